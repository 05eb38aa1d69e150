// The names of a fleet's records. Each record is an ordinary election of the store. All names begin with one prefix.

import { ConfigurationError } from "@leasehold/core";
import { checkName, MAX_NAME_BYTES } from "@leasehold/core/provider";
import { MAX_SLOTS } from "./plan.ts";

const MAX_SHARD_NAME_BYTES = 200;

export class FleetNames {
  readonly fleet: string;
  readonly head: string;
  readonly plan: string;
  readonly members: string;
  /** A record whose term is the highest revision that an operator has written. A list of the members contains it, too. */
  readonly told: string;
  readonly shards: string;

  /** @throws {ConfigurationError} for a name with a slash, or a name that an election cannot have. */
  constructor(fleet: unknown) {
    checkText("fleet", fleet);
    if (fleet.includes("/"))
      throw new ConfigurationError(
        `The fleet's name '${fleet}' has a slash, which separates its records; use another character.`,
      );
    this.fleet = fleet;
    const prefix = `fleet/${fleet}/`;
    checkText("fleet", `${prefix}member/${MAX_SLOTS}`);
    this.head = `${prefix}head`;
    this.plan = `${prefix}plan`;
    this.members = `${prefix}member/`;
    this.told = `${this.members}told`;
    this.shards = `${prefix}shard/`;
  }

  member(slot: number): string {
    return `${this.members}${slot}`;
  }

  /** Returns the slot of a session's lease; `undefined` for any other name. */
  slotOf(election: string): number | undefined {
    const slot = Number(election.slice(this.members.length));
    return Number.isInteger(slot) && slot >= 0 && slot < MAX_SLOTS && election === this.member(slot) ? slot : undefined;
  }

  /** @throws {ConfigurationError} for a name that a shard cannot have. */
  checkShard(shard: unknown): asserts shard is string {
    checkText("shard", shard);
    const most = Math.min(MAX_SHARD_NAME_BYTES, MAX_NAME_BYTES - Buffer.byteLength(this.shards));
    const bytes = Buffer.byteLength(shard);
    if (bytes > most)
      throw new ConfigurationError(
        `The shard '${shard}' has a name of ${bytes} bytes of UTF-8; in the fleet '${this.fleet}' at most ${most} fit.`,
      );
  }
}

/** @throws {ConfigurationError} for text that no election can have in its name. The error names the option. */
export function checkText(option: "fleet" | "memberId" | "shard", text: unknown): asserts text is string {
  try {
    checkName("name", text);
  } catch (error) {
    throw new ConfigurationError(`${option}: ${(error as Error).message}`);
  }
}
