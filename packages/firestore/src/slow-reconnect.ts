import type { Firestore } from "@google-cloud/firestore";
import { StoreWarnings, type Journal } from "@leasehold/core/provider";

/** A client that waits for no longer before it connects again is not warned of. */
const ACCEPTED_MS = 10_000;
const OPTION = "grpc.max_reconnect_backoff_ms";

/** The settings of a `Firestore`, which it does not publish. */
interface Internals {
  readonly _settings?: { readonly ssl?: boolean; readonly grpcOptions?: Readonly<Record<string, unknown>> };
}

/** Warns each elector or observer that begins to use a client which may connect again late: each logger once. */
export class ReconnectWarnings extends StoreWarnings {
  readonly #firestore: Firestore;

  constructor(firestore: Firestore) {
    super();
    this.#firestore = firestore;
  }

  override join(journal: Journal): void {
    super.join(journal);
    const message = slowReconnectWarning(this.#firestore);
    if (message !== undefined) this.warnOnce("LEASEHOLD_SLOW_RECONNECT", "", message);
  }
}

/**
 * Returns the warning that a client may wait for two minutes before it connects again after an outage; `undefined` if it does not,
 * if its settings cannot be read, or if it is an emulator's.
 */
export function slowReconnectWarning(firestore: Firestore): string | undefined {
  const settings = (firestore as unknown as Internals)._settings;
  if (!settings || settings.ssl === false) return undefined;
  const ms = settings.grpcOptions?.[OPTION];
  if (typeof ms === "number" && ms <= ACCEPTED_MS) return undefined;
  return (
    "The Firestore that the store was given may wait for up to two minutes before it connects again after an outage, and nobody leads " +
    `meanwhile. Make it with the gRPC options of @leasehold/firestore: new Firestore({ ...KEEPALIVE, … }). It lacks ${OPTION}.`
  );
}
