// C++ thread_local objects whose destructors free and allocate at thread exit, and static objects
// that do so before main and after it.
#include "support/pattern.h"

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "support/api.h"

namespace
{

std::atomic<int> destroyed{0};

struct hoard {
    std::vector<std::string> strings;
    std::unique_ptr<std::vector<int>> numbers = std::make_unique<std::vector<int>>(20000, 7);

    ~hoard()
    {
        for (std::size_t i = 0; i < strings.size(); i++)
            CHECK(strings[i].size() == i + 40);
        strings.clear();
        strings.shrink_to_fit();
        for (int i = 0; i < 100; i++)
            strings.push_back(std::string(1000, 'y'));
        CHECK(numbers->at(19999) == 7);
        destroyed++;
    }
};

thread_local hoard first;
thread_local std::vector<std::unique_ptr<hoard>> second;

struct global_object {
    std::vector<std::string> early{500, std::string(333, 'g')};

    ~global_object()
    {
        CHECK(early.size() == 500 && early[499][332] == 'g');
        CHECK_THAT(destroyed == 64 * 4 + 1, "%d objects destroyed", destroyed.load());
        early.resize(2000);
        check_passed("static destructor");
        _exit(0);
    }
};

global_object global;

void work(int)
{
    for (int i = 0; i < 200; i++)
        first.strings.push_back(std::string(static_cast<std::size_t>(i) + 40, 'x'));
    for (int i = 0; i < 3; i++) {
        second.push_back(std::make_unique<hoard>());
        second.back()->strings.push_back(std::string(40, 'z'));
    }
}

void thread_local_destructors()
{
    for (int round = 0; round < 8; round++) {
        std::vector<std::thread> threads;
        for (int i = 0; i < 8; i++)
            threads.emplace_back(work, i);
        for (auto &thread : threads)
            thread.join();
    }
    CHECK_THAT(destroyed == 64 * 4, "%d objects destroyed", destroyed.load());
}

} // namespace

int main()
{
    reach_hakmem();
    RUN(thread_local_destructors);
    first.strings.push_back(std::string(40, 'm'));
    // Only the destructor of `global`, the last of all, makes this a success.
    return 3;
}
