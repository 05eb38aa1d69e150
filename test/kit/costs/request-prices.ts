import type { Price } from "./cost.ts";

/** The clouds' prices of requests. The places that use them say when a figure was last found, and on which page. */
const DYNAMODB = "https://aws.amazon.com/dynamodb/pricing/on-demand/";
const BLOBS = "https://azure.microsoft.com/pricing/details/storage/blobs/";
const OBJECTS = "https://aws.amazon.com/s3/pricing/";
const FIRESTORE = "https://cloud.google.com/firestore/pricing";

/** us-east-1. */
export const DYNAMODB_WRITE: Price = { of: "a write of an item up to 1 KB", usd: 0.625, per: 1_000_000, source: DYNAMODB };
export const DYNAMODB_READ: Price = {
  of: "a consistent read of an item up to 4 KB",
  usd: 0.125,
  per: 1_000_000,
  source: DYNAMODB,
};
/** West Europe. Leasing, reading properties and writing metadata are all "other operations". */
export const BLOB_OPERATION: Price = { of: "operations on leases and metadata", usd: 0.005, per: 10_000, source: BLOBS };
/** East US. */
export const BLOB_WRITE: Price = { of: "blobs written", usd: 0.055, per: 10_000, source: BLOBS };
/** us-east-1. Google Cloud Storage has the same prices in us-central1 (class A and B), and R2 lower ones. */
export const OBJECT_WRITE: Price = { of: "objects written", usd: 0.005, per: 1_000, source: OBJECTS };
export const OBJECT_READ: Price = { of: "objects read", usd: 0.0004, per: 1_000, source: OBJECTS };
/** us-central1. */
export const FIRESTORE_WRITE: Price = { of: "documents written", usd: 0.09, per: 100_000, source: FIRESTORE };
export const FIRESTORE_READ: Price = { of: "documents read", usd: 0.03, per: 100_000, source: FIRESTORE };
