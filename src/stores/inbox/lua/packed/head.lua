-- Prelude of every script of a packed inbox. An inbox is one string of fixed length:
--   0  4  'TLi' and version 1          18 112  recent: the newest records, up to 8, ascending
--   4  4  capacity of main, in records 130 32  epoch, followSeq, activeSeq, awakeSeq: 8 bytes each
--   8  4  start: free records in main  162 45  allFloor, activeFloor, trimFloor: time56|id64
--  12  4  count of records in main     207 16  nonce, padded with zero bytes
--  16  1  1: trimmed since settled     223  -  main: the older records, ascending: time48|id64
--  17  1  count of recent records           1  byte that is never written again
-- All numbers are big-endian. Every inbox with a record has a recent one. Deliveries mostly go to the recent ones, which lie
-- beside the counts: one read and one write at a fixed place, where the head is in the processor's cache already. While
-- `trimmed`, the oldest record raises all three floors, so that a trim need not write them. Strings change in place
-- (SETRANGE): growth by APPEND would double what Redis allocates.
local MAGIC, RECENT, RECENT_MAX, SEQS, TRIM_FLOOR, NONCE, HEAD, RECORD = 'TLi\1', 18, 8, 130, 192, 207, 223, 14
local HOT, FLOORS = RECENT + RECENT_MAX * RECORD, SEQS + 32
local call, pcall, pack, unpack, sub = redis.call, redis.pcall, struct.pack, struct.unpack, string.sub

-- start, count, capacity, trimmed and the recent records. Without an inbox: nil, and whether something else is there (1) or
-- nothing (0).
local function open(key)
  -- Offsets as text: Redis would print a number, with 17 digits.
  local hot = pcall('GETRANGE', key, '0', '129')
  if hot == '' then return nil, 0 end
  if type(hot) ~= 'string' or #hot < HOT then return nil, 1 end
  local magic, capacity, start, count, trimmed, recent = unpack('>c4I4I4I4BB', hot)
  if magic ~= MAGIC or start + count > capacity or recent > RECENT_MAX then return nil, 1 end
  return start, count, capacity, trimmed, sub(hot, RECENT + 1, RECENT + RECORD * recent)
end

-- What any string of this capacity measures; another length means that it was cut.
local function length_of(capacity) return HEAD + RECORD * capacity + 1 end

local function offset_of(index) return HEAD + RECORD * index end

-- Records of main.
local function read_records(key, index, count)
  if count <= 0 then return '' end
  return call('GETRANGE', key, offset_of(index), offset_of(index + count) - 1)
end

-- Writes counts and recent records, and returns the string's length.
local function write_hot(key, start, count, trimmed, recent)
  return call('SETRANGE', key, '8', pack('>I4I4BB', start, count, trimmed, #recent / RECORD) .. recent)
end

-- Compares entries as numbers: string order follows the server's locale. Halves of ids, because doubles end at 2^53.
local function is_older(time_a, high_a, low_a, time_b, high_b, low_b)
  if time_a ~= time_b then return time_a < time_b end
  if high_a ~= high_b then return high_a < high_b end
  return low_a < low_b
end

-- How many of these records are older than the position, and whether it is itself one of them.
local function find_in(records, time, high, low)
  local from, to = 0, #records / RECORD
  local is_here = false
  while from < to do
    local middle = math.floor((from + to) / 2)
    local t, h, l = unpack('>I6I4I4', records, RECORD * middle + 1)
    if is_older(t, h, l, time, high, low) then
      from = middle + 1
    else
      to = middle
      is_here = is_here or (t == time and h == high and l == low)
    end
  end
  return from, is_here
end

-- The same in main. Late arrivals are mostly near the newest, so the first probe is there; the last 16 records are read at
-- once, which is cheaper than 4 more probes.
local function find(key, start, count, time, high, low)
  local from, to = 0, count
  local middle = math.max(math.floor(count / 2), count - 64)
  while to - from > 16 do
    local t, h, l = unpack('>I6I4I4', read_records(key, start + middle, 1))
    if is_older(t, h, l, time, high, low) then from = middle + 1 else to = middle end
    middle = math.floor((from + to) / 2)
  end
  local place, is_here = find_in(read_records(key, start + from, math.min(to + 1, count) - from), time, high, low)
  return from + place, is_here
end

-- Records that fit in main with at least `count`: what the allocator (jemalloc: four classes a doubling) rounds up to is
-- used.
local function capacity_for(count)
  local fixed, step = HEAD + 1 + 10, 16
  local bytes = fixed + RECORD * count
  while bytes > 8 * step do step = 2 * step end
  return math.floor((math.ceil(bytes / step) * step - fixed) / RECORD)
end

-- Writes the whole string. `rest`: seqs, floors and nonce. `main` and `recent`: ascending.
local function write_inbox(key, capacity, trimmed, rest, main, recent)
  call('SET', key, table.concat({
    MAGIC, pack('>I4I4I4BB', capacity, 0, #main / RECORD, trimmed, #recent / RECORD),
    recent, string.rep('\0', RECORD * RECENT_MAX - #recent), rest,
    main, string.rep('\0', RECORD * capacity - #main), '.',
  }))
end

-- The same for records of which the newest becomes the recent one.
local function write_records(key, trimmed, rest, records)
  local capacity = capacity_for(math.max(1, #records / RECORD))
  write_inbox(key, capacity, trimmed, rest, sub(records, 1, -RECORD - 1), sub(records, -RECORD))
end

local function newest_floor(a, b)
  local at, ah, al = unpack('>I7I4I4', a)
  local bt, bh, bl = unpack('>I7I4I4', b)
  return is_older(at, ah, al, bt, bh, bl) and b or a
end

-- Writes down the floors that the oldest record stands for: before it may be followed by an older one, or goes.
local function settle(key, start, count, recent)
  local oldest = '\0' .. (count > 0 and read_records(key, start, 1) or sub(recent, 1, RECORD))
  local floors = {}
  for i = 0, 2 do
    local at = FLOORS + 15 * i
    floors[i + 1] = newest_floor(call('GETRANGE', key, at, at + 14), oldest)
  end
  call('SETRANGE', key, FLOORS, table.concat(floors))
  call('SETRANGE', key, 16, '\0')
end
