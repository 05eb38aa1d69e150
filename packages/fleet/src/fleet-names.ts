// The names of a fleet's records. They are ordinary elections of the store, below a prefix of the fleet's own.

import { ConfigurationError } from "@leasehold/core";
import { checkName, MAX_NAME_BYTES } from "@leasehold/core/provider";
import { MAX_SLOTS } from "./plan.ts";

const PREFIX = "fleet/";
/** The longest name of a shard, in bytes of UTF-8. */
const MAX_SHARD_NAME_BYTES = 200;

/** The names of the records of one fleet. */
export class FleetNames {
  readonly fleet: string;
  /** The lease of the coordinator. */
  readonly head: string;
  readonly plan: string;
  /** The beginning of the names of the sessions' leases. */
  readonly members: string;
  /** Its term is the highest revision that an operator has written. A list of the members shows it. */
  readonly told: string;
  /** The beginning of the names of the shards' records. */
  readonly shards: string;

  /** @throws {ConfigurationError} for a name that no election could have, or with a slash. */
  constructor(fleet: unknown) {
    checkName("name", fleet);
    if (fleet.includes("/")) {
      throw new ConfigurationError(
        `The fleet's name '${fleet}' has a slash, which separates the fleet's records; use another character.`,
      );
    }
    this.fleet = fleet;
    const prefix = `${PREFIX}${fleet}/`;
    checkName("name", `${prefix}member/${MAX_SLOTS}`);
    this.head = `${prefix}head`;
    this.plan = `${prefix}plan`;
    this.members = `${prefix}member/`;
    this.told = `${this.members}told`;
    this.shards = `${prefix}shard/`;
  }

  /** Returns the name of a slot's lease. */
  member(slot: number): string {
    return `${this.members}${slot}`;
  }

  /** Returns the slot of a lease's name; `undefined` if it is none of ours. */
  slotOf(election: string): number | undefined {
    const text = election.slice(this.members.length);
    const slot = Number(text);
    return election.startsWith(this.members) && String(slot) === text && Number.isInteger(slot) && slot >= 0 && slot < MAX_SLOTS
      ? slot
      : undefined;
  }

  /** Returns the name of a shard's record, which is its fence. */
  shard(shard: string): string {
    return this.shards + shard;
  }

  /** @throws {ConfigurationError} for a name that a shard cannot have. */
  checkShard(shard: unknown): asserts shard is string {
    checkName("name", shard);
    const most = Math.min(MAX_SHARD_NAME_BYTES, MAX_NAME_BYTES - Buffer.byteLength(this.shards));
    const bytes = Buffer.byteLength(shard);
    if (bytes <= most) return;
    throw new ConfigurationError(
      `The shard '${shard}' has a name of ${bytes} bytes of UTF-8; in the fleet '${this.fleet}' at most ${most} fit.`,
    );
  }
}
