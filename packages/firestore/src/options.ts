import type { Firestore } from "@google-cloud/firestore";
import { defineOptions, type RecordLeaseStoreOptions } from "@leasehold/core/provider";

export interface FirestoreLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * Your `Firestore`. The store does not change it. Give it the gRPC keepalive options ({@link KEEPALIVE}).
   * @defaultValue a new one with these options, and with the project and the credentials that the SDK finds
   */
  readonly firestore?: Firestore | undefined;
  /** The path of the collection of the lease documents, with one document per election. @defaultValue 'leasehold' */
  readonly collection?: string | undefined;
}

/** The names of all options. */
export const OPTIONS: Readonly<Record<keyof FirestoreLeaseStoreOptions, true>> =
  defineOptions<FirestoreLeaseStoreOptions>()("firestore collection clock");

/**
 * Settings for a `Firestore` that make it drop a dead connection soon, and reconnect soon.
 *
 * The first two send pings. Without pings, calls on a connection that a router has dropped time out until the system closes the
 * socket. On Linux that takes a quarter of an hour. Google's services do not allow more frequent pings. Without the last two
 * options, gRPC waits for up to two minutes before it connects again after an outage.
 */
export const KEEPALIVE: { readonly grpcOptions: Readonly<Record<string, number>> } = {
  grpcOptions: {
    "grpc.keepalive_time_ms": 30_000,
    "grpc.keepalive_timeout_ms": 10_000,
    "grpc.initial_reconnect_backoff_ms": 500,
    "grpc.max_reconnect_backoff_ms": 2_000,
  },
};
