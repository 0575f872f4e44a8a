// What a replay goes in and out of, so that something is counted inside alone.
#pragma once

namespace blockmark {

class Region {
 public:
  Region() = default;
  Region(const Region&) = delete;
  Region& operator=(const Region&) = delete;
  virtual ~Region() = default;

  // Entering twice, or leaving twice, is as once.
  virtual void enter() = 0;
  virtual void leave() = 0;
};

// Goes in and out of a region, and is out at the end, also when an operation throws.
class Visit {
 public:
  explicit Visit(Region& region) : region_(region) {}
  Visit(const Visit&) = delete;
  Visit& operator=(const Visit&) = delete;
  ~Visit() {
    if (!inside_) return;
    try {
      region_.leave();
    } catch (...) {
      // What is under way already says what went wrong.
    }
  }

  void be(bool inside) {
    if (inside == inside_) return;
    inside ? region_.enter() : region_.leave();
    inside_ = inside;
  }

 private:
  Region& region_;
  bool inside_ = false;
};

}  // namespace blockmark
