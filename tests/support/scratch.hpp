// A folder for one case, gone with it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace allot {

struct scratch_folder {
    std::filesystem::path folder;

    scratch_folder() {
        std::string name = std::filesystem::temp_directory_path() / "allot-test-XXXXXX";
        folder = mkdtemp(name.data());
    }
    ~scratch_folder() { std::filesystem::remove_all(folder); }
    scratch_folder(const scratch_folder &) = delete;
    scratch_folder &operator=(const scratch_folder &) = delete;
};

} // namespace allot
