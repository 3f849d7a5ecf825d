// SPDX-License-Identifier: Apache-2.0
#include "world.hpp"

#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "post.hpp"

namespace tern_torch
{

namespace
{

std::mutex g_mutex;
std::weak_ptr<World> g_world; // the newest
std::atomic<uint64_t> g_world_era{0};
std::atomic<uint64_t> g_count{0};
std::vector<std::weak_ptr<Group>> g_groups;
uint64_t g_groups_era = 0;
constexpr int64_t kExitNs = 5000000000; // of each call that is left at the end of the program

// What a member tells the others before they have a communicator.
struct Card {
    std::string host, machine; // its name, and what is one machine's alone
    std::string world;         // "" when it has none
    int rank = 0;              // in that world
    std::string launched;      // its rank and size under `tern run`, "" else
    std::string path;          // where to meet if it is rank 0 of the group
    uint64_t tag = 0;          // of the part if it is
};

std::string read_line(const char *path)
{
    std::ifstream file(path);
    std::string line;
    std::getline(file, line);
    return line;
}

std::string host_name()
{
    char name[256] = "";
    gethostname(name, sizeof name - 1);
    return name;
}

std::string word_of(const char *variable)
{
    const char *value = getenv(variable);
    return value != nullptr ? value : "";
}

Card own_card(const std::shared_ptr<World> &world)
{
    Card card;
    card.host = host_name();
    card.machine = read_line("/proc/sys/kernel/random/boot_id");
    if (world != nullptr) {
        card.world = world->name;
        card.rank = tern_comm_rank(world->comm);
    } else if (!word_of("TERN_RANK").empty()) {
        card.launched = word_of("TERN_RANK") + "/" + word_of("TERN_NRANKS");
    }
    card.tag = (uint64_t)getpid() << 32U | ++g_count;
    std::string folder = access("/tmp", W_OK | X_OK) == 0 ? "/tmp" : word_of("TMPDIR");
    card.path = folder + "/tern-torch-" + std::to_string(getpid()) + "-" + std::to_string(g_count);
    return card;
}

// Lines; none of the fields has a line break.
std::string print(const Card &card)
{
    return card.host + "\n" + card.machine + "\n" + card.world + "\n" + std::to_string(card.rank) +
           "\n" + card.launched + "\n" + card.path + "\n" + std::to_string(card.tag) + "\n";
}

Card parse(const std::string &text)
{
    std::vector<std::string> lines;
    for (size_t at = 0, end; (end = text.find('\n', at)) != std::string::npos; at = end + 1) {
        lines.push_back(text.substr(at, end - at));
    }
    if (lines.size() != 7) {
        throw std::runtime_error("tern: the store has a damaged entry");
    }
    Card card;
    card.host = lines[0];
    card.machine = lines[1];
    card.world = lines[2];
    card.rank = std::stoi(lines[3]);
    card.launched = lines[4];
    card.path = lines[5];
    card.tag = std::stoull(lines[6]);
    return card;
}

std::vector<Card> exchange(c10d::Store &store, int rank, int size, const Card &own)
{
    std::string text = print(own);
    store.set("tern/" + std::to_string(rank), {text.begin(), text.end()});
    std::vector<Card> cards;
    for (int i = 0; i < size; i++) {
        std::vector<uint8_t> bytes;
        try {
            bytes = store.get("tern/" + std::to_string(i));
        } catch (const std::exception &error) {
            throw std::runtime_error("tern: rank " + std::to_string(i) +
                                     " of the process group has not come: " + error.what());
        }
        cards.push_back(parse({bytes.begin(), bytes.end()}));
    }
    return cards;
}

bool all_in_one_world(const std::vector<Card> &cards)
{
    for (const Card &card : cards) {
        if (card.world.empty() || card.world != cards[0].world) {
            return false;
        }
    }
    return true;
}

// Whether the group is the whole job of `tern run`.
bool all_launched(const std::vector<Card> &cards)
{
    for (size_t i = 0; i < cards.size(); i++) {
        if (cards[i].launched != std::to_string(i) + "/" + std::to_string(cards.size())) {
            return false;
        }
    }
    return true;
}

void check_machine(const std::vector<Card> &cards)
{
    for (size_t i = 1; i < cards.size(); i++) {
        if (cards[i].machine != cards[0].machine) {
            throw std::runtime_error("tern: rank 0 of the process group is on host " +
                                     cards[0].host + " and rank " + std::to_string(i) +
                                     " on host " + cards[i].host +
                                     "; the ranks that meet through a store must be on one machine "
                                     "(`tern run --hosts` starts them on several)");
        }
    }
}

std::shared_ptr<World> start_world(const std::vector<Card> &cards, int rank, int64_t timeout_ns)
{
    tern_options options = {};
    options.timeout_ns = timeout_ns;
    tern_comm *comm = nullptr;
    int status;
    if (all_launched(cards)) {
        status = tern_init(&options, &comm);
    } else {
        check_machine(cards);
        status = tern_init_at(rank, (int)cards.size(), cards[0].path.c_str(), &options, &comm);
    }
    if (status != TERN_OK) {
        throw_error(status, sentence_of(status));
    }
    return std::make_shared<World>(comm, cards[0].machine + cards[0].path);
}

// A child of a fork gets a lock of its own with its first world.
void set_current_world(const std::shared_ptr<World> &world)
{
    if (g_world_era.load() != 0 && g_world_era.load() != fork_era()) {
        new (&g_mutex) std::mutex;
        new (&g_world) std::weak_ptr<World>;
    }
    std::lock_guard<std::mutex> lock(g_mutex);
    g_world = world;
    g_world_era.store(fork_era(), std::memory_order_release);
}

// For leave_all.
std::shared_ptr<Group> keep(std::shared_ptr<Group> group)
{
    std::lock_guard<std::mutex> lock(g_mutex);
    auto gone = [](const std::weak_ptr<Group> &other) { return other.expired(); };
    if (g_groups_era != fork_era()) {
        new (&g_groups) std::vector<std::weak_ptr<Group>>;
        g_groups_era = fork_era();
    }
    g_groups.erase(std::remove_if(g_groups.begin(), g_groups.end(), gone), g_groups.end());
    g_groups.push_back(group);
    return group;
}

} // namespace

std::string sentence_of(int status)
{
    const char *sentence = tern_last_error();
    return sentence[0] != '\0' ? sentence : tern_status_text(status);
}

void throw_error(int status, const std::string &sentence)
{
    // With a space on each side, as programs look for it.
    std::string text =
        status == TERN_ERR_TIMEOUT ? "tern: Timed out (" + sentence + ")" : "tern: " + sentence;
#if TORCH_VERSION_MAJOR >= 2
    C10_THROW_ERROR(DistBackendError, text);
#else
    throw std::runtime_error(text);
#endif
}

World::~World()
{
    leave();
}

void World::leave()
{
    if (era == fork_era() && comm != nullptr) {
        tern_comm_release(comm);
    }
    comm = nullptr;
}

Group::Group(std::shared_ptr<World> world, tern_comm *comm, int rank, int size, int64_t timeout_ns)
    : world(std::move(world)), comm(comm), rank(rank), size(size), timeout_ns(timeout_ns),
      post(std::make_unique<Post>(comm))
{
}

Group::~Group()
{
    destroy();
}

void Group::destroy()
{
    if (!queue.is_dead() && !destroyed_) {
        post->let_go();
        if (comm != world->comm) {
            tern_comm_destroy(comm);
        }
    }
    destroyed_ = true;
}

std::shared_ptr<Group> Group::start(c10d::Store &store, int rank, int size, int64_t timeout_ns)
{
    if (size > TERN_RANKS_MAX) {
        throw std::runtime_error("tern: a process group has at most " +
                                 std::to_string(TERN_RANKS_MAX) + " ranks, this one " +
                                 std::to_string(size));
    }
    std::shared_ptr<World> world = current_world();
    std::vector<Card> cards = exchange(store, rank, size, own_card(world));
    if (!all_in_one_world(cards)) {
        world = start_world(cards, rank, timeout_ns);
        set_current_world(world);
        return keep(std::make_shared<Group>(world, world->comm, rank, size, timeout_ns));
    }
    std::vector<int> ranks;
    for (const Card &card : cards) {
        ranks.push_back(card.rank);
    }
    tern_comm *part = nullptr;
    int status = tern_comm_create_group(world->comm, ranks.data(), size, cards[0].tag, &part);
    if (status != TERN_OK) {
        throw_error(status, sentence_of(status));
    }
    return keep(std::make_shared<Group>(world, part, rank, size, timeout_ns));
}

void Group::leave(const std::shared_ptr<Group> &group)
{
    auto close = [group] {
        group->queue.close();
        group->post->close();
    };
    if (group->queue.is_worker() || group->post->is_postman()) { // nobody can wait for itself
        std::thread(close).detach();
    } else {
        close();
    }
}

void Group::leave_all()
{
    if (g_world_era != fork_era()) {
        return;
    }
    std::vector<std::shared_ptr<Group>> groups;
    {
        std::lock_guard<std::mutex> lock(g_mutex);
        for (const auto &group : g_groups) {
            if (auto held = group.lock()) {
                groups.push_back(std::move(held));
            }
        }
    }
    for (const auto &group : groups) {
        group->limit_ns = kExitNs;
        leave(group);
    }
    for (const auto &group : groups) {
        group->destroy();
    }
    for (const auto &group : groups) {
        group->world->leave();
    }
}

// In the child of a fork the lock may be one that nobody gives back.
std::shared_ptr<World> current_world()
{
    if (g_world_era.load(std::memory_order_acquire) != fork_era()) {
        return nullptr;
    }
    std::lock_guard<std::mutex> lock(g_mutex);
    return g_world.lock();
}

} // namespace tern_torch
