import type { Firestore } from "@google-cloud/firestore";
import type { StoreWarning } from "@leasehold/core/provider";

/** A client that waits for no longer before it connects again is not warned of. */
const ACCEPTED_MS = 10_000;
const OPTION = "grpc.max_reconnect_backoff_ms";

/** The settings of a `Firestore`, which it does not publish. */
interface Internals {
  readonly _settings?: { readonly ssl?: boolean; readonly grpcOptions?: Readonly<Record<string, unknown>> };
}

/**
 * Returns the warning that a client may wait for two minutes before it connects again after an outage; `undefined` if it does not,
 * if its settings cannot be read, or if it is an emulator's.
 */
export function slowReconnectWarning(firestore: Firestore): StoreWarning | undefined {
  const settings = (firestore as unknown as Internals)._settings;
  if (!settings || settings.ssl === false) return undefined;
  const ms = settings.grpcOptions?.[OPTION];
  if (typeof ms === "number" && ms <= ACCEPTED_MS) return undefined;
  return {
    code: "LEASEHOLD_SLOW_RECONNECT",
    message:
      "The Firestore that the store was given may wait for up to two minutes before it connects again after an outage, and nobody leads " +
      `meanwhile. Make it with the gRPC options of @leasehold/firestore: new Firestore({ ...KEEPALIVE, … }). It lacks ${OPTION}.`,
  };
}
