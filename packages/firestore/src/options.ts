import type { Firestore } from "@google-cloud/firestore";
import type { RecordLeaseStoreOptions } from "@leasehold/core/provider";

export interface FirestoreLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * Yours, used as it is; give it the keepalive options of gRPC, as the README says.
   * @defaultValue a new one with them, with the project and the credentials that the SDK finds by itself
   */
  readonly firestore?: Firestore | undefined;
  /** The collection of the lease documents, one document per election. @defaultValue 'leasehold' */
  readonly collection?: string | undefined;
}

/** Each option, by name. */
export const OPTIONS: Readonly<Record<keyof FirestoreLeaseStoreOptions, true>> = {
  firestore: true,
  collection: true,
  clock: true,
};

/**
 * The settings of a `Firestore` that end a dead connection soon, and make a new one soon. Without pings, calls on a connection that a
 * router has forgotten time out for as long as the system keeps the socket, which is a quarter of an hour on Linux. Google's services
 * put up with no more of them. Without the other two, gRPC waits for up to two minutes before it connects again after an outage.
 */
export const KEEPALIVE: { readonly grpcOptions: Readonly<Record<string, number>> } = {
  grpcOptions: {
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.initial_reconnect_backoff_ms": 500,
    "grpc.max_reconnect_backoff_ms": 2_000,
  },
};
