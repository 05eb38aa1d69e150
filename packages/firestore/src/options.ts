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
 * The settings of a `Firestore` that find a connection that a router has forgotten: without pings, calls on it time out for as long as the
 * system keeps the socket, which is a quarter of an hour on Linux. Google's services put up with no more of them.
 */
export const KEEPALIVE: { readonly grpcOptions: Readonly<Record<string, number>> } = {
  grpcOptions: { "grpc.keepalive_time_ms": 30_000, "grpc.keepalive_timeout_ms": 10_000 },
};
