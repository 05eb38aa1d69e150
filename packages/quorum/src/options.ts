import { ConfigurationError, type LeaseStore, type LoggerOption } from "@leasehold/core";
import { checkName, type RecordLeaseStoreOptions, type RecordStore } from "@leasehold/core/provider";

/** A store that keeps leases as records, such as one on DynamoDB, Firestore or SQL, or a `RecordStore` of your own. */
export type QuorumMember = RecordStore | (LeaseStore & { readonly records: RecordStore });

export interface QuorumLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * Three or five stores by name. Every process must give the same names to the same stores. The stores must be independent of
   * each other, for example in different regions or clouds. Never use one of them by itself for the same elections.
   */
  readonly members: Readonly<Record<string, QuorumMember>>;
  /**
   * Receives a warning when a member fails, and a message when it answers again. An Elector's logger does not receive these.
   * @defaultValue process warnings; false: silence
   */
  readonly logger?: LoggerOption;
}

/** The name of each option. */
export const OPTIONS: Readonly<Record<keyof QuorumLeaseStoreOptions, true>> = { members: true, clock: true, logger: true };

/** @throws {ConfigurationError} unless these are three or five different stores that keep records. */
export function checkMembers(members: QuorumLeaseStoreOptions["members"]): Readonly<Record<string, RecordStore>> {
  if (typeof members !== "object" || members === null) throw new ConfigurationError("members must be an object of stores.");
  const named = Object.entries(members);
  if (named.length !== 3 && named.length !== 5) {
    throw new ConfigurationError(
      `A quorum has three or five members, not ${named.length}: two survive no more than one does, and four no more than three.`,
    );
  }
  const records = named.map(([name, member]) => {
    checkName("name", name);
    return [name, recordsOf(name, member)] as const;
  });
  refuseTwins(records);
  return Object.fromEntries(records);
}

/** @throws {ConfigurationError} if two members have one store, or one marker of a store. */
export function refuseTwins(named: ReadonlyArray<readonly [name: string, store: unknown]>): void {
  const twins = twinsIn(named);
  if (!twins) return;
  const [one, other] = twins;
  throw new ConfigurationError(
    `Members ${one} and ${other} are the same store, which would fail together: give each a store of its own.`,
  );
}

/** Returns the names of two members with the same value. */
export function twinsIn(named: ReadonlyArray<readonly [name: string, value: unknown]>): readonly [string, string] | undefined {
  for (const [at, [name, value]] of named.entries()) {
    const twin = named.slice(0, at).find(([, other]) => other === value)?.[0];
    if (twin !== undefined) return [twin, name];
  }
  return undefined;
}

export function recordsOf(name: string, member: unknown): RecordStore {
  const candidate = (member ?? {}) as Partial<RecordStore> & { readonly records?: unknown };
  const records = (candidate.records ?? candidate) as Partial<RecordStore>;
  if (typeof records.get === "function" && typeof records.put === "function" && typeof records.capabilities === "object") {
    return records as RecordStore;
  }
  throw new ConfigurationError(`Member '${name}' is no store that keeps records: give it one on DynamoDB, Firestore or SQL.`);
}
