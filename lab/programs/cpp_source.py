"""Writes a large C++20 file: maps, regular expressions, ranges, variants, many templates.

The text depends on the number of units alone, so two machines compile the same file.
"""

from __future__ import annotations

from collections.abc import Iterator

HEADER = """\
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <ranges>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <unordered_map>
#include <variant>
#include <vector>

namespace generated {

template <class Key, class Value, int Tag>
class Index {
public:
    void put(const Key &key, Value value) { entries_[key].push_back(std::move(value)); }

    template <class Predicate>
    std::vector<Value> select(Predicate predicate) const {
        std::vector<Value> found;
        for (const auto &[key, values] : entries_)
            std::ranges::copy_if(values, std::back_inserter(found), predicate);
        return found;
    }

    std::size_t size() const {
        return std::accumulate(entries_.begin(), entries_.end(), std::size_t{Tag},
                               [](std::size_t n, const auto &e) { return n + e.second.size(); });
    }

private:
    std::map<Key, std::vector<Value>> entries_;
};
"""

SQUARES_BY_VIEWS = """\
int squares(const std::vector<int> &input) {{
    auto picked = input | std::views::filter([](int v) {{ return v % {modulus} != 0; }})
                        | std::views::transform([](int v) {{ return v * v + {n}; }})
                        | std::views::take({factor} * 10);
    int sum = 0;
    for (int value : picked) sum += value;
    return sum;
}}
"""

SQUARES_BY_LOOP = """\
int squares(const std::vector<int> &input) {{
    int sum = 0;
    for (int value : input)
        if (value % {modulus} != 0) sum += value * value + {n};
    return sum;
}}
"""

UNIT = """
namespace unit_{n} {{

struct Point {{
    int x{n};
    double y{n};
    std::string label;
    auto operator<=>(const Point &) const = default;
}};
struct Name {{ std::string text; int rank = {rank}; }};
using Shape = std::variant<int, Point, Name, std::vector<std::string>>;

struct Visitor {{
    std::ostringstream out;
    void operator()(int value) {{ out << value * {factor}; }}
    void operator()(const Point &p) {{ out << p.label << p.x{n} << p.y{n}; }}
    void operator()(const Name &name) {{ out << name.text << name.rank; }}
    void operator()(const std::vector<std::string> &words) {{ for (auto &w : words) out << w; }}
}};

std::map<std::string, int> count_words(const std::string &text) {{
    static const std::regex word("([a-z]+{n})|([0-9]{{1,{digits}}})|(x[a-f]*y)");
    std::map<std::string, int> counts;
    for (std::sregex_iterator it(text.begin(), text.end(), word), end; it != end; ++it)
        ++counts[it->str()];
    return counts;
}}

{squares}
std::string render(std::vector<Shape> shapes) {{
    Visitor visitor;
    std::ranges::for_each(shapes, [&](const Shape &s) {{ std::visit(visitor, s); }});
    return visitor.out.str();
}}

int run(const std::string &text) {{
    Index<std::string, Point, {n}> points;
    Index<std::tuple<int, std::string>, std::shared_ptr<Name>, {n}> names;
    std::unordered_map<std::string, std::function<int(int)>> actions;
    std::set<Point> ordered;
    for (int i = 0; i < {loops}; ++i) {{
        Point p{{i, i * 0.5, text.substr(0, i % 7)}};
        points.put(p.label, p);
        ordered.insert(p);
        names.put({{i, text}}, std::make_shared<Name>(Name{{p.label, i}}));
        actions.emplace(p.label, [i](int v) {{ return v + i * {factor}; }});
    }}
    auto far = points.select([](const Point &p) {{ return p.x{n} > {rank}; }});
    std::ranges::sort(far, std::greater<>{{}}, &Point::y{n});
    int sum = squares({{1, 2, 3, {n}}}) + static_cast<int>(names.size() + ordered.size());
    for (const auto &[word, count] : count_words(text))
        sum += count * static_cast<int>(word.size());
    for (auto &[label, action] : actions) sum = action(sum);
    std::string drawn = render({{1, Name{{text}}, std::vector<std::string>{{text}}}});
    return sum + static_cast<int>(drawn.size());
}}

}}  // namespace unit_{n}
"""

FOOTER = """
}}  // namespace generated

int main(int argc, char **argv) {{
    std::string text = argc > 1 ? argv[1] : "alpha12 beta7 xaby 42";
    long total = 0;
{calls}
    std::printf("total %ld\\n", total);
}}
"""


def cpp_source(units: int, *, views: bool = True) -> Iterator[str]:
    """Yields the text of one translation unit; each unit adds about 0.7 s to g++ -O2.

    views=False leaves out std::views, which clang 14 cannot parse from libstdc++ 12.
    """
    yield HEADER
    for n in range(units):
        numbers = dict(n=n, rank=n % 17 + 1, factor=n % 5 + 2, digits=n % 3 + 2,
                       modulus=n % 4 + 2, loops=n * 3 + 20)
        squares = (SQUARES_BY_VIEWS if views else SQUARES_BY_LOOP).format(**numbers)
        yield UNIT.format(squares=squares, **numbers)
    calls = "\n".join(f"    total += generated::unit_{n}::run(text);" for n in range(units))
    yield FOOTER.format(calls=calls)
