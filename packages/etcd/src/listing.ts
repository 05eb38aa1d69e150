import { checkName, endOfPrefix, ForeignRecordError, LIST_PAGE_SIZE } from "@leasehold/core/provider";
import type { ListedElection } from "@leasehold/core";
import { candidateKeyOf, OWN } from "./keys.ts";
import { electionData, lookingAt, sightingOf } from "./observed-election.ts";
import type { StoreParts } from "./parts.ts";
import type { CallLimits } from "./requests.ts";
import { bytes, keyAfter, keysFrom, type KeyValue } from "./wire.ts";

/** etcd refuses a transaction of more than 128 operations. Reading an election takes three. */
const ELECTIONS_PER_READ = 40;
/** etcd's sign for a range without an end. The same byte is also the least key. */
const ALL = "\0";

/**
 * Lists the elections that have candidates. Reads the candidates' keys page by page, without their values, and then the elections
 * of each page. Keys that are not a candidate's belong to other programs, and are skipped.
 */
export async function* listElections(
  parts: StoreParts,
  keyPrefix: string,
  prefix: string,
  limits: CallLimits,
): AsyncGenerator<ListedElection> {
  // Keys come in order. The keys of `a/b` may lie between those of `a`. So `open` contains `a` as long as keys below `a/` follow.
  let open: readonly string[] = [];
  for await (const keys of pagesOf(parts, keyPrefix, prefix, limits)) {
    const found = new Set<string>();
    for (const key of keys) {
      open = open.filter((name) => key.key.startsWith(`${keyPrefix}${name}/`));
      const election = electionOf(key, keyPrefix);
      if (election === undefined || open.includes(election)) continue;
      open = [...open, election];
      found.add(election);
    }
    const names = [...found];
    for (let from = 0; from < names.length; from += ELECTIONS_PER_READ) {
      for (const entry of await readAll(parts, prefix, names.slice(from, from + ELECTIONS_PER_READ), limits)) {
        limits.signal?.throwIfAborted();
        yield entry;
      }
    }
  }
}

/** Yields pages of keys. Leaves out the keys below {@link OWN}, because there may be many occurrences among them. */
async function* pagesOf(
  { requests }: StoreParts,
  keyPrefix: string,
  prefix: string,
  limits: CallLimits,
): AsyncGenerator<readonly KeyValue[]> {
  const first = `${keyPrefix}${prefix}`;
  const end = endOfPrefix(first) ?? ALL;
  const ranges = OWN.startsWith(first)
    ? [[first, OWN] as const, [endOfPrefix(OWN) as string, end] as const]
    : [[first, end] as const];
  for (const [start, rangeEnd] of ranges) {
    for (let from = bytes(start || ALL); ;) {
      const reading = { success: [keysFrom(from, bytes(rangeEnd), LIST_PAGE_SIZE)] };
      const { ranges: found } = await requests.read("list", prefix, reading, limits);
      const [keys = []] = found;
      yield keys;
      const last = keys.at(-1);
      if (!last || keys.length < LIST_PAGE_SIZE) break;
      from = keyAfter(last.rawKey);
    }
  }
}

/** Reads some elections in one request. Leaves out those that have no candidate any more. */
async function readAll(
  { requests, reader, keysOf }: StoreParts,
  prefix: string,
  names: readonly string[],
  limits: CallLimits,
): Promise<readonly ListedElection[]> {
  const success = names.flatMap((name) => lookingAt(keysOf(name)));
  const { header, ranges } = await requests.read("list", prefix, { success }, limits);
  const listed: ListedElection[] = [];
  for (const [index, election] of names.entries()) {
    try {
      const data = electionData(ranges.slice(3 * index, 3 * index + 3));
      const observed = sightingOf(election, keysOf(election), header.revision, data);
      reader.saw(observed);
      const snapshot = observed.head && (await reader.snapshot(observed, limits));
      if (snapshot) listed.push(snapshot);
    } catch (error) {
      if (!(error instanceof ForeignRecordError)) throw error;
      listed.push({ election, state: "foreign", problem: error.problem });
    }
  }
  return listed;
}

/** Returns the election of a candidate's key; `undefined` for any other key. */
function electionOf({ key, rawKey, lease }: KeyValue, keyPrefix: string): string | undefined {
  const election = bytes(key) === rawKey ? candidateKeyOf(key.slice(keyPrefix.length), lease) : undefined;
  if (election === undefined) return undefined;
  try {
    checkName("election", election);
    return election;
  } catch {
    return undefined;
  }
}
