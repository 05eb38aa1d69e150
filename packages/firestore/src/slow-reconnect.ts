import type { Firestore } from "@google-cloud/firestore";
import { StoreWarnings, type Journal } from "@leasehold/core/provider";

/** The largest value of each option that causes no warning. */
const ACCEPTED_MS: Readonly<Record<string, number>> = {
  "grpc.keepalive_time_ms": 60_000,
  "grpc.max_reconnect_backoff_ms": 10_000,
};

/** The settings of a `Firestore`, which are not public. */
interface Internals {
  readonly _settings?: { readonly ssl?: boolean; readonly grpcOptions?: Readonly<Record<string, unknown>> };
}

/** Warns an elector or observer whose client may reconnect late. Each logger gets the warning once. */
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
 * Returns a warning if a client may reconnect late. It may keep a connection that a gateway has forgotten. It may wait for two
 * minutes before it connects again after an outage. Returns `undefined` if neither can happen, if the settings cannot be read, or
 * for an emulator.
 */
function slowReconnectWarning(firestore: Firestore): string | undefined {
  const settings = (firestore as unknown as Internals)._settings;
  if (!settings || settings.ssl === false) return undefined;
  const { grpcOptions = {} } = settings;
  const lacking = Object.entries(ACCEPTED_MS).filter(([option, acceptedMs]) => !isWithin(grpcOptions[option], acceptedMs));
  if (lacking.length === 0) return undefined;
  return (
    "The Firestore that the store was given may be without a connection for minutes, and nobody leads meanwhile: it keeps a connection that a gateway " +
    "has dropped, or waits for up to two minutes before it connects again after an outage. Make it with the gRPC options of " +
    `@leasehold/firestore: new Firestore({ ...KEEPALIVE, … }). It lacks ${lacking.map(([option]) => option).join(" and ")}.`
  );
}

function isWithin(value: unknown, acceptedMs: number): boolean {
  return typeof value === "number" && value <= acceptedMs;
}
