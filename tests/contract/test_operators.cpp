// Every replaceable operator new and delete: alignment, zero sizes, contents, sized and aligned
// forms crossed with plain ones as the standard allows, the new handler, bad_alloc, nothrow.
#include "support/pattern.h"

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include <malloc.h>

#include "support/api.h"

namespace
{

constexpr std::size_t sizes[] = {0, 1, 8, 15, 16, 17, 100, 1024, 5000, 40000, 300000, 3000000};

void check(void *block, std::size_t size, std::size_t alignment)
{
    CHECK_THAT(block != nullptr, "size %zu", size);
    CHECK_THAT(reinterpret_cast<std::uintptr_t>(block) % alignment == 0, "%p, size %zu", block,
               size);
    CHECK(malloc_usable_size(block) >= size);
    pattern_fill(block, size, size);
    CHECK(pattern_first_difference(block, size, size) == size);
}

std::size_t plain_alignment(std::size_t size)
{
    return size >= __STDCPP_DEFAULT_NEW_ALIGNMENT__ ? __STDCPP_DEFAULT_NEW_ALIGNMENT__ : 8;
}

void plain_forms()
{
    for (std::size_t size : sizes) {
        std::size_t alignment = plain_alignment(size);
        for (int round = 0; round < 10; round++) {
            void *block = ::operator new(size);
            check(block, size, alignment);
            ::operator delete(block);
            block = ::operator new[](size);
            check(block, size, alignment);
            ::operator delete[](block);
            block = ::operator new(size, std::nothrow);
            check(block, size, alignment);
            ::operator delete(block, std::nothrow);
            block = ::operator new[](size, std::nothrow);
            check(block, size, alignment);
            ::operator delete[](block, std::nothrow);
            block = ::operator new(size);
            check(block, size, alignment);
            ::operator delete(block, size);
            block = ::operator new[](size);
            check(block, size, alignment);
            ::operator delete[](block, size);
        }
    }
    ::operator delete(nullptr);
    ::operator delete[](nullptr);
    ::operator delete(nullptr, std::nothrow);
    ::operator delete[](nullptr, std::nothrow);
    ::operator delete(nullptr, std::size_t{8});
    ::operator delete[](nullptr, std::size_t{8});
}

void aligned_forms()
{
    for (std::size_t alignment = 8; alignment <= (std::size_t{1} << 22); alignment *= 2) {
        std::align_val_t given{alignment};
        for (std::size_t size : sizes) {
            void *block = ::operator new(size, given);
            check(block, size, alignment);
            ::operator delete(block, given);
            block = ::operator new[](size, given);
            check(block, size, alignment);
            ::operator delete[](block, given);
            block = ::operator new(size, given, std::nothrow);
            check(block, size, alignment);
            ::operator delete(block, given, std::nothrow);
            block = ::operator new[](size, given, std::nothrow);
            check(block, size, alignment);
            ::operator delete[](block, given, std::nothrow);
            block = ::operator new(size, given);
            check(block, size, alignment);
            ::operator delete(block, size, given);
            block = ::operator new[](size, given);
            check(block, size, alignment);
            ::operator delete[](block, size, given);
        }
        ::operator delete(nullptr, given);
        ::operator delete[](nullptr, given);
        ::operator delete(nullptr, std::size_t{8}, given);
        ::operator delete[](nullptr, std::size_t{8}, given);
    }
}

// Expects bad_alloc from a call that cannot be satisfied.
template <typename Call> void expect_bad_alloc(Call call)
{
    bool caught = false;
    try {
        void *block = opaque(call());
        ::operator delete(block);
    } catch (const std::bad_alloc &) {
        caught = true;
    }
    CHECK(caught);
}

std::size_t impossible()
{
    return opaque_size(static_cast<std::size_t>(PTRDIFF_MAX) - 65536);
}

void failure_throws_bad_alloc()
{
    std::align_val_t page{4096};
    expect_bad_alloc([] { return ::operator new(impossible()); });
    expect_bad_alloc([] { return ::operator new[](impossible()); });
    expect_bad_alloc([&] { return ::operator new(impossible(), page); });
    expect_bad_alloc([&] { return ::operator new[](impossible(), page); });
    expect_bad_alloc([] { return ::operator new(opaque_size(SIZE_MAX)); });
    CHECK(opaque(::operator new(impossible(), std::nothrow)) == nullptr);
    CHECK(opaque(::operator new[](impossible(), std::nothrow)) == nullptr);
    CHECK(opaque(::operator new(impossible(), page, std::nothrow)) == nullptr);
    CHECK(opaque(::operator new[](impossible(), page, std::nothrow)) == nullptr);
}

int handler_calls;

void counting_handler()
{
    if (++handler_calls == 3)
        std::set_new_handler(nullptr);
}

void throwing_handler()
{
    handler_calls++;
    throw std::bad_alloc();
}

struct own_exception : std::bad_alloc {
};

void own_throwing_handler()
{
    throw own_exception();
}

// The handler is called again and again until there is none, and then bad_alloc is thrown.
void new_handler_is_called_until_it_is_gone()
{
    std::align_val_t page{4096};
    handler_calls = 0;
    std::set_new_handler(counting_handler);
    expect_bad_alloc([] { return ::operator new(impossible()); });
    CHECK_THAT(handler_calls == 3, "%d calls", handler_calls);
    handler_calls = 0;
    std::set_new_handler(counting_handler);
    expect_bad_alloc([&] { return ::operator new(impossible(), page); });
    CHECK_THAT(handler_calls == 3, "%d calls", handler_calls);
    handler_calls = 0;
    std::set_new_handler(counting_handler);
    CHECK(opaque(::operator new(impossible(), std::nothrow)) == nullptr);
    CHECK_THAT(handler_calls == 3, "%d calls", handler_calls);
    CHECK(std::get_new_handler() == nullptr);
}

void new_handler_may_throw()
{
    std::align_val_t page{4096};
    handler_calls = 0;
    std::set_new_handler(throwing_handler);
    expect_bad_alloc([] { return ::operator new(impossible()); });
    expect_bad_alloc([] { return ::operator new[](impossible()); });
    CHECK(opaque(::operator new(impossible(), std::nothrow)) == nullptr);
    CHECK(opaque(::operator new[](impossible(), std::nothrow)) == nullptr);
    CHECK(opaque(::operator new(impossible(), page, std::nothrow)) == nullptr);
    CHECK_THAT(handler_calls == 5, "%d calls", handler_calls);
    std::set_new_handler(own_throwing_handler);
    bool own = false;
    try {
        ::operator delete(opaque(::operator new(impossible())));
    } catch (const own_exception &) {
        own = true;
    }
    CHECK(own);
    std::set_new_handler(nullptr);
}

struct alignas(256) wide {
    unsigned char bytes[300];
};

void containers_and_over_aligned_types()
{
    std::vector<std::string> strings;
    std::map<int, std::unique_ptr<wide>> wides;
    for (int i = 0; i < 20000; i++) {
        strings.push_back(std::string(static_cast<std::size_t>(i % 300), 'x') + std::to_string(i));
        if (i % 16 == 0) {
            auto &slot = wides[i * 7919 % 20000];
            slot = std::make_unique<wide>();
            CHECK(reinterpret_cast<std::uintptr_t>(slot.get()) % 256 == 0);
        }
    }
    for (int i = 0; i < 20000; i++) {
        std::size_t prefix = static_cast<std::size_t>(i % 300);
        CHECK(strings[static_cast<std::size_t>(i)].substr(prefix) == std::to_string(i));
    }
    std::thread other([&] { strings.clear(); wides.clear(); });
    other.join();
}

void delete_keeps_errno()
{
    for (std::size_t size : sizes) {
        void *block = ::operator new(size);
        errno = 4720;
        ::operator delete(block);
        CHECK(errno == 4720);
    }
}

} // namespace

int main()
{
    reach_hakmem();
    RUN(plain_forms);
    RUN(aligned_forms);
    RUN(failure_throws_bad_alloc);
    RUN(new_handler_is_called_until_it_is_gone);
    RUN(new_handler_may_throw);
    RUN(containers_and_over_aligned_types);
    RUN(delete_keeps_errno);
    return 0;
}
