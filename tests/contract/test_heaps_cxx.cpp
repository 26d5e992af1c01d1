/*
 * Heaps from C++: containers on an allocator over a heap, and blocks that operator delete frees.
 */
#include <cerrno>
#include <map>
#include <new>
#include <string>
#include <vector>

#include "support/heaps.h"

#include "support/api.h"

template <typename T> struct in_heap {
    using value_type = T;
    hakmem_heap *heap;

    explicit in_heap(hakmem_heap *h) : heap(h) {}
    template <typename U> in_heap(const in_heap<U> &other) : heap(other.heap) {}

    T *allocate(std::size_t n)
    {
        void *p = hakmem_heap_aligned_alloc(heap, alignof(T), n * sizeof(T));
        if (p == nullptr)
            throw std::bad_alloc();
        return static_cast<T *>(p);
    }
    void deallocate(T *p, std::size_t) { hakmem_heap_free(heap, p); }
    friend bool operator==(const in_heap &a, const in_heap &b) { return a.heap == b.heap; }
    friend bool operator!=(const in_heap &a, const in_heap &b) { return a.heap != b.heap; }
};

static uint64_t blocks_in(hakmem_heap *heap)
{
    hakmem_heap_stats stats = {};
    stats.size = sizeof stats;
    CHECK(hakmem_heap_stats_get(heap, &stats) == 0);
    return stats.blocks;
}

static void containers_live_in_a_heap()
{
    using string = std::basic_string<char, std::char_traits<char>, in_heap<char>>;
    using pair = std::pair<const int, string>;
    hakmem_heap *heap = hakmem_heap_new("containers", 0);
    CHECK(heap != nullptr);
    {
        std::map<int, string, std::less<int>, in_heap<pair>> words{in_heap<pair>(heap)};
        for (int i = 0; i < 2000; i++)
            words.emplace(i, string(static_cast<std::size_t>(i), 'x', in_heap<char>(heap)));
        CHECK(hakmem_heap_of(&*words.begin()) == heap);
        for (int i = 0; i < 2000; i++)
            CHECK(words.at(i).size() == static_cast<std::size_t>(i));
        CHECK(blocks_in(heap) > 3000);
    }
    CHECK(blocks_in(heap) == 0);
    hakmem_heap_destroy(heap);
}

static void the_limit_throws()
{
    hakmem_heap *heap = hakmem_heap_new("small", 100000);
    CHECK(heap != nullptr);
    bool thrown = false;
    try {
        std::vector<int, in_heap<int>> many{in_heap<int>(heap)};
        for (int i = 0; i < 1000000; i++)
            many.push_back(i);
    } catch (const std::bad_alloc &) {
        thrown = true;
    }
    CHECK(thrown && errno == ENOMEM && blocks_in(heap) == 0);
    hakmem_heap_destroy(heap);
}

static void operator_delete_frees()
{
    hakmem_heap *heap = hakmem_heap_new(nullptr, 0);
    CHECK(heap != nullptr);
    void *p = hakmem_heap_malloc(heap, 40), *q = hakmem_heap_malloc(heap, 40000);
    CHECK(p != nullptr && q != nullptr && blocks_in(heap) == 2);
    ::operator delete(opaque(p));
    ::operator delete[](opaque(q));
    CHECK(blocks_in(heap) == 0);
    hakmem_heap_destroy(heap);
}

int main()
{
    reach_hakmem();
    RUN(containers_live_in_a_heap);
    RUN(the_limit_throws);
    RUN(operator_delete_frees);
    return 0;
}
