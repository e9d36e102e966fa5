// A process of a hierarchy that does what it is told: hierarchy_member DIR NAME TENANT. Lines of standard input:
//
//   charge BYTES    uncharge BYTES    stock BYTES    event NAME    tenant PATH    serve BYTES    wrong BYTES    exit
//
// Each is answered by a line. serve: for up to three seconds, one request of any kind, with so much as its answer. wrong: so
// many bytes are said to be charged that are not.
#include "accounting/context_table.hpp"
#include "accounting/shared/accounts.hpp"
#include "accounting/shared/file.hpp"
#include "accounting/shared/ledger.hpp"
#include "accounting/shared/members.hpp"
#include "accounting/shared/nodes.hpp"
#include "accounting/shared/requests.hpp"
#include "accounting/tables.hpp"

#include <cstdint>
#include <iostream>
#include <string>
#include <unistd.h>

using namespace allot;

namespace {

std::uint64_t answer = 0;

std::uint64_t give_answer(shared::request_kind, std::uint32_t, std::uint64_t) { return answer; }

context_record &new_context(std::uint32_t account) {
    const std::uint32_t index = shared::chunk_open();
    if (index == 0) _exit(3);
    auto &c = *reinterpret_cast<context_record *>(shared::context_address(index));
    shared::taking_at(index).account = account;
    set_flag(c.hot, context_in_use);
    return c;
}

bool perform(const std::string &word, const std::string &value, std::uint32_t node, std::uint32_t account) {
    const std::uint64_t bytes = value.empty() || value[0] < '0' || value[0] > '9' ? 0 : std::stoull(value);
    shared::account &a = shared::account_at(account);
    if (word == "charge") {
        if (shared::ledger_charge(account, bytes).is != shared::verdict::done) return false;
        a.lines.external += static_cast<std::int64_t>(bytes);
        return true;
    }
    if (word == "uncharge") {
        a.lines.external -= static_cast<std::int64_t>(bytes);
        return shared::ledger_uncharge(account, bytes).is == shared::verdict::done;
    }
    if (word == "stock") {
        if (shared::ledger_charge(account, bytes).is != shared::verdict::done) return false;
        new_context(account).hot.stock += static_cast<std::int64_t>(bytes);
        return true;
    }
    if (word == "event") {
        shared::node_count_event(node, static_cast<allot_event>(find_event(value.c_str())));
        return true;
    }
    if (word == "tenant") return shared::node_make(value.c_str()).node != 0;
    if (word == "wrong") {
        a.lines.external += static_cast<std::int64_t>(bytes);
        return true;
    }
    if (word == "serve") {
        answer = bytes;
        for (int i = 0; i < 3000 && !shared::request_is_waiting(); ++i) usleep(1000);
        if (!shared::request_is_waiting()) return false;
        shared::request_serve(give_answer);
        return true;
    }
    return false;
}

} // namespace

int main(int argc, char **argv) {
    if (argc != 4 || shared::attach(argv[1], argv[2], shared::if_missing::make).error != shared::attach_error::none)
        return 2;
    const std::uint32_t node = shared::node_make(argv[3]).node;
    if (node == 0 || !shared::member_join(node, 0)) return 3;
    const std::uint32_t account = shared::account_open(node);
    std::cout << "ready " << account << std::endl;
    for (std::string word, value; std::cin >> word && word != "exit" && std::cin >> value;)
        std::cout << (perform(word, value, node, account) ? "done" : "failed") << std::endl;
    shared::member_note_exit();
}
