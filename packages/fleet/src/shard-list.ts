// The names of the shards that there are to be: a number of them, a list, or a function that returns a list.

import { createHash } from "node:crypto";
import { ConfigurationError } from "@leasehold/core";
import { sleep, type Clock } from "@leasehold/core/provider";
import type { FleetNames } from "./fleet-names.ts";
import type { FleetSettings } from "./fleet-options.ts";
import { MAX_PLAN_BYTES, planBytes } from "./plan-text.ts";

/** A number of shards, which are then called "0", "1", and so on; their names; or a function that returns the names. */
export type ShardsOption = number | readonly string[] | (() => readonly string[] | Promise<readonly string[]>);

/** A list leaves room in the plan for so many members at least. */
const MEMBERS = 32;
/** The mark of every list that a function returns. */
const ASKED = "function";

/**
 * Checks a list of shards, and returns its names.
 * @throws {ConfigurationError} with the numbers.
 */
function namesOfShards(shards: unknown, names: FleetNames): readonly string[] {
  if (typeof shards === "number") return numbered(shards);
  if (!Array.isArray(shards)) {
    throw new ConfigurationError("shards must be a number, a list of names, or a function that returns a list of names.");
  }
  const list = shards as unknown[];
  for (const name of list) names.checkShard(name);
  const given = list as readonly string[];
  if (new Set(given).size !== given.length) {
    const twice = given.find((name, index) => given.indexOf(name) !== index);
    throw new ConfigurationError(`shards has the name '${twice}' twice; each shard needs a name of its own.`);
  }
  checkSize(given);
  return given;
}

function numbered(count: number): readonly string[] {
  if (!Number.isInteger(count) || count < 1) {
    throw new ConfigurationError(`shards is ${count}; it must be a whole number from 1, or a list of names.`);
  }
  // A list that is far too long is not made, because it may not fit into memory.
  const given = Array.from({ length: Math.min(count, MAX_PLAN_BYTES) }, (_, index) => String(index));
  checkSize(given, count);
  return given;
}

function checkSize(given: readonly string[], count = given.length): void {
  const bytes = planBytes(given, MEMBERS);
  if (bytes <= MAX_PLAN_BYTES) return;
  throw new ConfigurationError(
    `${count} shards and ${MEMBERS} members take ${bytes} bytes or more in the plan, which has room for ${MAX_PLAN_BYTES}. Number the shards, and hash what you have to the numbers.`,
  );
}

/** The list of one process. */
export class ShardList {
  /** Members whose lists are equal have equal marks. */
  readonly mark: string;
  readonly #source: ShardsOption;
  readonly #names: FleetNames;
  #list: readonly string[] | undefined;
  /** A strange answer, which counts once it was given twice. */
  #strange: string | undefined;
  #askedMs = -Infinity;

  constructor(source: ShardsOption, names: FleetNames) {
    this.#source = source;
    this.#names = names;
    if (typeof source === "function") this.mark = ASKED;
    else {
      const list = namesOfShards(source, names);
      if (list.length === 0) throw new ConfigurationError("shards is an empty list; name at least one shard.");
      this.#list = list;
      this.mark = typeof source === "number" ? `n${source}` : hashOf(list);
    }
  }

  /** The list as it was asked for last; `undefined` before the first answer. */
  get list(): readonly string[] | undefined {
    return this.#list;
  }

  /** Forgets what the function returned. Another coordinator may have asked it since. A fixed list stays. */
  forget(): void {
    if (typeof this.#source !== "function") return;
    this.#list = undefined;
    this.#strange = undefined;
    this.#askedMs = -Infinity;
  }

  /**
   * Asks the function again once `shardsRefreshMs` have passed. It has `attemptTimeoutMs` to answer. An answer may be empty, or lack more than half of the shards. It then counts
   * once it was given twice, because an empty replica must not stop all work.
   * Returns true if the function has answered.
   * @throws what the function throws, for an answer that is no list, and for one that does not come in time. The former list then stays.
   */
  async refresh(present: readonly string[], { clock, shardsRefreshMs, timing }: FleetSettings): Promise<boolean> {
    const nowMs = clock.monotonicMs();
    if (typeof this.#source !== "function" || nowMs - this.#askedMs < shardsRefreshMs) return false;
    this.#askedMs = nowMs;
    const answer = namesOfShards(await within(clock, timing.attemptTimeoutMs, this.#source), this.#names);
    const known = this.#list ?? present;
    const given = new Set(answer);
    const lacking = known.filter((name) => !given.has(name)).length;
    const mark = hashOf(answer);
    if ((answer.length === 0 || lacking > known.length / 2) && mark !== this.#strange) {
      this.#strange = mark;
      throw new ConfigurationError(
        `The function shards returned ${answer.length} names, without ${lacking} of ${known.length} shards. It counts if it returns them again.`,
      );
    }
    this.#strange = undefined;
    this.#list = answer;
    return true;
  }
}

/** Calls the function. An answer that comes too late counts for nothing. */
async function within<T>(clock: Clock, timeoutMs: number, ask: () => T | Promise<T>): Promise<T> {
  const answered = new AbortController();
  const answer = (async () => await ask())();
  const late = sleep(clock, timeoutMs, answered.signal).then(() => {
    throw new ConfigurationError(`The function shards has not answered within ${Math.round(timeoutMs)} ms.`);
  });
  return await Promise.race([answer, late]).finally(() => answered.abort());
}

/** The order of a list does not matter. */
function hashOf(list: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(list.toSorted())).digest("base64url").slice(0, 12);
}
