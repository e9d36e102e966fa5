"""ruby and lua, whichever is here: garbage collectors that live on realloc and free."""
import shutil

import preloaded

RUBY = r"""
h = Hash.new(0)
100000.times { |i| h["w#{i * 7919 % 4001}"] += 1 }
puts h.sort_by { |k, v| [-v, k] }.first(5).inspect
puts (1..20000).map { |i| { id: i, name: "row #{i}" * (i % 5) } }.sum { |r| r[:name].size }
puts 8.times.map { |t| Thread.new { (1..5000).map { |i| "#{t}-#{i}" }.join.hash != 0 } }.map(&:value).inspect
a = []; 300000.times { |i| a << i.to_s; a.clear if a.size > 5000 }; GC.start; puts a.size
"""
LUA = r"""
local t = {}
for i = 1, 300000 do t[i % 7001] = "s" .. (i * 7919 % 10007) .. string.rep("x", i % 50) end
local n = 0 for _, v in pairs(t) do n = n + #v end print(n)
local parts = {} for i = 1, 50000 do parts[#parts + 1] = tostring(i) end print(#table.concat(parts))
local c = coroutine.wrap(function() for i = 1, 50000 do coroutine.yield({i, i * 2}) end end)
local s = 0 for i = 1, 50000 do s = s + c()[2] end print(s) collectgarbage() print(collectgarbage("count") > 0)
"""


def work(runner):
    results = []
    for program, source in (("ruby", RUBY), ("lua5.4", LUA), ("lua", LUA)):
        if shutil.which(program):
            results.append((program, runner.run(program, runner.file(f"work.{program}", source))))
    if not results:
        raise preloaded.Failure("neither ruby nor lua")
    return results


preloaded.require("ruby")
preloaded.compare(work, needs=["ruby"])
