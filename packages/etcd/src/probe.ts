import { ConfigurationError } from "@leasehold/core";
import type { ElectionKeys } from "./keys.ts";
import type { StoreParts } from "./parts.ts";
import type { CallLimits } from "./requests.ts";
import { bytes, putting, type EtcdCompare } from "./wire.ts";

/** No lease has this number, so no candidate's key ends with it. */
const NO_LEASE = "0";

/**
 * Proves the right to write the election's keys, by a transaction whose condition cannot hold. etcd checks the rights for both
 * branches of a transaction. Changes nothing.
 */
export async function probe({ requests }: StoreParts, keys: ElectionKeys, election: string, limits: CallLimits): Promise<void> {
  const key = keys.candidate(NO_LEASE);
  // A version is never negative.
  const never: EtcdCompare = { key: bytes(key), target: "VERSION", result: "EQUAL", version: "-1" };
  const success = [key, keys.info(NO_LEASE), keys.note(NO_LEASE)].map((one) => putting(one, "", NO_LEASE));
  const { succeeded } = await requests.write("check", election, { compare: [never], success }, limits);
  if (!succeeded) return;
  throw new ConfigurationError(
    `etcd has carried out a write of '${election}' whose condition cannot hold: the server that answered is not etcd.`,
    { election },
  );
}
