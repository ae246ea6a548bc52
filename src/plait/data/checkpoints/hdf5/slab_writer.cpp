// SPDX-License-Identifier: Apache-2.0
#include "plait/data/checkpoints/hdf5/slab_writer.hpp"

#include "plait/files/system_file.hpp"

namespace plait::data::hdf5 {
namespace {

class DirectSlabWriter final : public SlabWriter {
 public:
  void write(const comm::Group&, const std::filesystem::path& file, std::span<const Slab> slabs) override {
    files::SystemFile out{file, files::SystemFile::Mode::write};
    for (const Slab& slab : slabs) {
      out.write(slab.file_offset + slab.first * slab.item_bytes, slab.data);
    }
    out.sync();
  }
};

}  // namespace

std::unique_ptr<SlabWriter> make_direct_slab_writer() {
  return std::make_unique<DirectSlabWriter>();
}

}  // namespace plait::data::hdf5
