# Strings, hashes, sorting, regular expressions and closures; prints sums that depend on the seed alone.
use strict;
use warnings;

my $state = 12345;
sub draw { $state = ($state * 1103515245 + 12345) & 0x7fffffff; return $state % $_[0]; }

my (%count, @kept);
for my $i (1 .. 200_000) {
    my $word = join '', map { chr(97 + draw(26)) } 1 .. 1 + draw(12);
    $count{$word}++;
    push @{$kept[draw(512)]}, $word x (1 + draw(20));
    $kept[draw(512)] = [] if draw(8) == 0;
}
my @top = (sort { $count{$b} <=> $count{$a} || $a cmp $b } keys %count)[0 .. 20];
print "$_ $count{$_}\n" for @top;

my $text = join ' ', map { "item$_=" . ($_ * 7919 % 10007) } 1 .. 50_000;
my %value = $text =~ /(item\d+)=(\d+)/g;
my $sum = 0;
$sum += $value{$_} for keys %value;
(my $other = $text) =~ s/item(\d+)=(\d+)/$2:$1/g;
print "sum $sum, length ", length($other), ", words ", scalar(split ' ', $other), "\n";

my @closures = map { my $n = $_; sub { $n += $_[0] } } 1 .. 20_000;
my $total = 0;
$total += $_->(3) for @closures;
print "closures $total\n";

my %tree;
$tree{$_ % 97}{$_ % 1009}{$_} = "v$_" for 1 .. 60_000;
my $leaves = 0;
for my $a (values %tree) { $leaves += keys %$_ for values %$a }
print "leaves $leaves\n";
