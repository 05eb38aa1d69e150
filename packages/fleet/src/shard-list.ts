// The names of the shards of a fleet: numbered, from a list, or from a function that returns a list.

import { createHash } from "node:crypto";
import { ConfigurationError } from "@leasehold/core";
import { sleep, type Clock } from "@leasehold/core/provider";
import type { FleetNames } from "./fleet-names.ts";
import type { FleetContext } from "./fleet-reporter.ts";
import { MAX_PLAN_BYTES, planBytes } from "./plan-text.ts";

/** The number of shards, their names, or a function that returns the names. Numbered shards are named "0", "1", and so on. */
export type ShardsOption = number | readonly string[] | (() => readonly string[] | Promise<readonly string[]>);

/** A list must leave room in the plan for at least this many members. */
const MEMBERS = 32;

function namesOfShards(shards: unknown, names: FleetNames): readonly string[] {
  const isNumber = typeof shards === "number";
  if (isNumber && (!Number.isInteger(shards) || shards < 1))
    throw new ConfigurationError(`shards is ${shards}; it must be a whole number from 1, or a list of names.`);
  if (!isNumber && !Array.isArray(shards))
    throw new ConfigurationError("shards must be a number, a list of names, or a function that returns a list of names.");
  // The length is cut, because a far too long list may not fit into memory.
  const length = isNumber ? Math.min(shards, MAX_PLAN_BYTES) : 0;
  const given: unknown[] = isNumber ? Array.from({ length }, (_, index) => String(index)) : (shards as unknown[]);
  const found = new Set<string>();
  for (const name of given) {
    names.checkShard(name);
    if (found.has(name)) throw new ConfigurationError(`shards has the name '${name}' twice; each shard needs a name of its own.`);
    found.add(name);
  }
  const list = [...found];
  const bytes = planBytes(list, MEMBERS);
  if (bytes <= MAX_PLAN_BYTES) return list;
  throw new ConfigurationError(
    `${isNumber ? shards : list.length} shards and ${MEMBERS} members take ${bytes} bytes or more in the plan, which has room for ${MAX_PLAN_BYTES}. Number the shards, and hash what you have to the numbers.`,
  );
}

export interface ShardSource {
  /** Members whose lists are equal have equal marks. */
  readonly mark: string;
  /** The names; `undefined` if a function returns the names. */
  readonly fixed?: readonly string[];
  readonly ask?: AskForShards;
}

type AskForShards = Exclude<ShardsOption, number | readonly string[]>;

/** @throws {ConfigurationError} for a list that is empty, invalid or too long. The error shows the values. */
export function shardSource(given: ShardsOption, names: FleetNames): ShardSource {
  if (typeof given === "function") return { mark: "function", ask: given };
  const fixed = namesOfShards(given, names);
  if (fixed.length === 0) throw new ConfigurationError("shards is an empty list; name at least one shard.");
  return { mark: typeof given === "number" ? `n${given}` : hashOf(fixed), fixed };
}

/** One coordinator's list of shards. The next coordinator begins a new list, because another process may have a later answer. */
export class ShardList {
  /** The last list that counts; `undefined` before the first answer of the function. */
  list: readonly string[] | undefined;
  readonly #context: FleetContext;
  /** The hash of the last answer that did not count. A second equal answer counts. */
  #strange: string | undefined;
  #askedMs = -Infinity;

  constructor(context: FleetContext) {
    this.#context = context;
    this.list = context.shards.fixed;
  }

  /** Calls the function again once `shardsRefreshMs` have passed. After a failure the former list stays. */
  async refresh(present: readonly string[]): Promise<void> {
    const { clock, shardsRefreshMs, names, shards, reporter } = this.#context;
    const nowMs = clock.monotonicMs();
    if (!shards.ask || nowMs - this.#askedMs < shardsRefreshMs) return;
    this.#askedMs = nowMs;
    try {
      this.list = await this.#ask(shards.ask, this.list ?? present);
      reporter.problem("answer", false);
    } catch (error) {
      reporter.problem("answer", `The list of shards of '${names.fleet}' stays as it is: ${(error as Error).message}`);
    }
  }

  /**
   * Returns the function's answer. An answer that is empty, or lacks more than half of the shards, counts only if it is given
   * twice. Otherwise one empty replica could stop all work.
   * @throws for an answer that does not count, and without an answer within `attemptTimeoutMs`.
   */
  async #ask(ask: AskForShards, known: readonly string[]): Promise<readonly string[]> {
    const { clock, timing, names } = this.#context;
    const answer = namesOfShards(await within(clock, timing.attemptTimeoutMs, ask), names);
    const given = new Set(answer);
    const lacking = known.filter((name) => !given.has(name)).length;
    const mark = hashOf(answer);
    if ((answer.length === 0 || lacking > known.length / 2) && mark !== this.#strange) {
      this.#strange = mark;
      throw new ConfigurationError(
        `The function shards returned ${answer.length} names, without ${lacking} of ${known.length} shards. The list stays as it is, unless the function returns the same names again.`,
      );
    }
    this.#strange = undefined;
    return answer;
  }
}

/** Calls the function. Ignores an answer that comes too late. */
async function within<T>(clock: Clock, timeoutMs: number, ask: () => T | Promise<T>): Promise<T> {
  const answered = new AbortController();
  const late = sleep(clock, timeoutMs, answered.signal).then(() => {
    throw new ConfigurationError(`The function shards has not answered within ${Math.round(timeoutMs)} ms.`);
  });
  return await Promise.race([(async () => await ask())(), late]).finally(() => answered.abort());
}

function hashOf(list: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(list.toSorted())).digest("base64url").slice(0, 12);
}
