import { createHash } from "node:crypto";
import { FENCE_FIELD } from "./keys.ts";

/** The beginning of the error by which Redis refuses a guarded script of a stale leader. */
export const FENCED_TEXT = "LEASEHOLD_FENCED";

/** A script, and the name by which a server that has it runs it. */
export interface Script {
  readonly text: string;
  readonly sha: string;
}

/**
 * The beginning of each script. It reads the server's clock, in microseconds, and the name of that clock. The name is the
 * replication id, which is new after each start and each promotion. It is empty where the account may not run INFO.
 *
 * A replica answers nothing else, because it may lag behind.
 */
const NOW = `
local time = redis.call('TIME')
local now = string.format('%.0f', time[1] * 1000000 + time[2])
local info = redis.pcall('INFO', 'replication')
local server = ''
if type(info) == 'string' then
  if string.find(info, 'role:slave', 1, true) then return {now, '', 'replica'} end
  server = string.match(info, 'master_replid:(%x+)') or ''
end
`;

/** Returns the record, or what is in its place. A key of another type is foreign. */
const FIND = `
local function find()
  local hash = redis.pcall('HMGET', KEYS[1], 'version', 'record', 'nonceAt', 'nonceServer', 'nonceWallMs')
  if hash.err then
    if string.find(hash.err, 'WRONGTYPE', 1, true) then return 'foreign', {} end
    return nil, hash
  end
  if hash[1] then return 'record', hash end
  if redis.call('EXISTS', KEYS[1]) == 1 then return 'foreign', {} end
  local fence = false
  if KEYS[2] ~= KEYS[1] then fence = redis.call('HGET', KEYS[2], '${FENCE_FIELD}') end
  return 'none', {fence}
end
local kind, found = find()
if kind == nil then return found end
`;

/**
 * Reads a record. KEYS: the record, the fence.
 *
 * Returns the server's time and name, and the kind of the finding: `record` with its fields, `none` with the fence that remains,
 * or `foreign`.
 */
export const READ: Script = script(`${NOW}${FIND}
return {now, server, kind, unpack(found, 1, 5)}
`);

/**
 * Writes a record if its version is still the given one, and the fence with it. KEYS: the record, the fence. ARGV:
 *
 * - 1: the version that is replaced. Empty for no record, `never` for a probe.
 * - 2 and 3: the new version, and the record as JSON.
 * - 4: the writer's wall clock in milliseconds, if the nonce is new. Otherwise empty.
 * - 5 and 6: the time after which the write is late, in microseconds, behind the name of the server whose clock shows it.
 * - 7: the time for which the record is kept, in milliseconds. Empty for ever.
 * - 8 and 9: the new fence, and the term that the present fence must be below. Empty: no new fence; any term.
 * - 10: PUBLISH or SPUBLISH, if the change is announced. Otherwise empty.
 *
 * Returns the server's time and name, and `written`, `late`, `ahead` with the fence, or the same as {@link READ}.
 *
 * A probe changes nothing, but needs the right to write, and a server that takes writes.
 *
 * Redis undoes nothing that came before a command for which the account lacks the right. So each PEXPIRE is also sent before the
 * first HSET. A key that does not exist yet stays absent.
 */
export const WRITE: Script = script(`${NOW}
if server ~= ARGV[5] or tonumber(now) > tonumber(ARGV[6]) then return {now, server, 'late'} end
${FIND}
local version = ''
if kind == 'record' then version = found[1] elseif kind == 'foreign' then version = false end
if ARGV[1] == 'never' then
  if kind == 'record' then redis.call('HSET', KEYS[1], 'version', version)
  elseif kind == 'none' then
    redis.call('PEXPIRE', KEYS[1], 0)
    redis.call('HSET', KEYS[1], 'version', '')
    redis.call('PEXPIRE', KEYS[1], 0)
  end
elseif version == ARGV[1] then
  if ARGV[8] ~= '' then
    local present = redis.call('HGET', KEYS[2], '${FENCE_FIELD}') or ''
    local term = string.match(present, '^%d+')
    local closes = term and ARGV[8] == term .. ' '
    if ARGV[9] ~= '' and term and tonumber(term) >= tonumber(ARGV[9]) and not closes then
      return {now, server, 'ahead', present}
    end
  end
  if ARGV[7] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[7]) end
  if ARGV[8] ~= '' then redis.call('HSET', KEYS[2], '${FENCE_FIELD}', ARGV[8]) end
  redis.call('HSET', KEYS[1], 'version', ARGV[2], 'record', ARGV[3])
  if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'nonceAt', now, 'nonceServer', server, 'nonceWallMs', ARGV[4]) end
  if ARGV[7] ~= '' then redis.call('PEXPIRE', KEYS[1], ARGV[7]) end
  if ARGV[10] ~= '' then redis.pcall(ARGV[10], KEYS[1], '') end
  return {now, server, 'written'}
end
return {now, server, kind, unpack(found, 1, 5)}
`);

/**
 * The first line of a user's script. It compares the fence in the last of the KEYS with the last of the ARGV, and refuses the
 * script if they differ.
 */
export const GUARD: string =
  `do local found = redis.call('HGET', KEYS[#KEYS], '${FENCE_FIELD}') if found ~= ARGV[#ARGV] then ` +
  `return redis.error_reply('${FENCED_TEXT} by term ' .. string.match(found or 'none', '^%w+')) end end`;

function script(text: string): Script {
  return { text, sha: createHash("sha1").update(text).digest("hex") };
}
