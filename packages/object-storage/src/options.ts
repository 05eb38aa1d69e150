import { ConfigurationError } from "@leasehold/core";
import { checkOptions, type RecordLeaseStoreOptions } from "@leasehold/core/provider";
import { isGcsClient } from "./gcs/gcs-requests.ts";
import { GcsService } from "./gcs/gcs-service.ts";
import { checkPrefix, DEFAULT_PREFIX } from "./keys.ts";
import type { ObjectService } from "./object-service.ts";
import { checkRetries, isS3Client } from "./s3/s3-requests.ts";
import { S3Service } from "./s3/s3-service.ts";

/** The options of `ObjectStorageLeaseStore`. Give `client` and `bucket`, or `url`. */
export interface ObjectStorageLeaseStoreOptions extends RecordLeaseStoreOptions {
  /**
   * Your client: an `S3Client` of `@aws-sdk/client-s3`, or a `Storage` of `@google-cloud/storage`. The store does not change it.
   * The SDK retries no request of the store.
   */
  readonly client?: unknown;
  /** The name of the bucket. It must exist. Access points and replicas are refused. */
  readonly bucket?: string | undefined;
  /** The beginning of every key. @defaultValue `leasehold/` */
  readonly prefix?: string | undefined;
  /**
   * A URL in place of the other options: `s3://BUCKET/PREFIX/?region=eu-west-1&endpoint=URL`, or
   * `gs://BUCKET/PREFIX/?endpoint=URL`.
   */
  readonly url?: string | undefined;
}

/** The names of all options. */
const OPTIONS: Readonly<Record<keyof ObjectStorageLeaseStoreOptions, true>> = {
  client: true,
  bucket: true,
  prefix: true,
  url: true,
  clock: true,
};

/** The options after their check. */
export interface CheckedOptions {
  readonly service: ObjectService;
  readonly bucket: string;
  readonly prefix: string;
}

/** @throws {ConfigurationError} for options that cannot work. */
export function checkedOptions(options: ObjectStorageLeaseStoreOptions): CheckedOptions {
  checkOptions("ObjectStorageLeaseStore", options, OPTIONS);
  const { client, url } = options;
  if ((client === undefined) === (url === undefined)) {
    throw new ConfigurationError(
      `ObjectStorageLeaseStore needs either client and bucket, or url; it was given ${url === undefined ? "neither" : "both"}.`,
    );
  }
  if (url !== undefined) return ofUrl(url, options);
  const { bucket, prefix = DEFAULT_PREFIX } = options;
  checkBucket(bucket);
  checkPrefix(prefix);
  return { service: serviceOf(client, bucket), bucket, prefix };
}

function serviceOf(client: unknown, bucket: string): ObjectService {
  if (isS3Client(client)) {
    checkRetries(client);
    return new S3Service(bucket, async () => ({ client, sdk: await s3Sdk(), isOwn: false }));
  }
  if (isGcsClient(client)) return new GcsService(bucket, () => Promise.resolve(client));
  throw new ConfigurationError("client is neither an S3Client of @aws-sdk/client-s3 nor a Storage of @google-cloud/storage.");
}

/** @throws {ConfigurationError} unless `bucket` is the name of a bucket. */
function checkBucket(bucket: unknown): asserts bucket is string {
  const isArn = typeof bucket === "string" && bucket.startsWith("arn:");
  if (isArn || /(-s3alias|\.mrap|--ol-s3)$/.test(String(bucket))) {
    throw new ConfigurationError(
      `bucket is ${JSON.stringify(bucket)}, an access point. It may lead to several buckets, or change what they answer; give the name of the bucket.`,
    );
  }
  // https://cloud.google.com/storage/docs/buckets#naming also allows underscores, and up to 222 characters.
  if (typeof bucket === "string" && /^[a-z0-9][\w.-]{1,220}[a-z0-9]$/.test(bucket)) return;
  throw new ConfigurationError(
    `bucket is ${JSON.stringify(bucket) ?? "missing"}; it must have 3 to 222 lower-case letters, digits, dots, hyphens and underscores.`,
  );
}

/** The parameters of the URLs of each scheme. */
export const PARAMETERS = { s3: ["region", "endpoint"], gs: ["endpoint"] } as const;

function ofUrl(text: string, { bucket: otherBucket, prefix: otherPrefix }: ObjectStorageLeaseStoreOptions): CheckedOptions {
  if (otherBucket !== undefined || otherPrefix !== undefined) {
    throw new ConfigurationError("url names the bucket and the prefix; leave the options bucket and prefix out.");
  }
  const url = URL.parse(text);
  const scheme = url?.protocol.slice(0, -1);
  if (!url || (scheme !== "s3" && scheme !== "gs")) {
    throw new ConfigurationError("url cannot be read; it looks like s3://BUCKET/PREFIX/ or gs://BUCKET/PREFIX/.");
  }
  if (url.username !== "" || url.password !== "" || url.port !== "") {
    throw new ConfigurationError(
      "url has a user, a password or a port. The SDK finds credentials by itself, such as a role or a profile.",
    );
  }
  const { host: bucket, searchParams } = url;
  const path = decodeURIComponent(url.pathname.slice(1));
  const prefix = path === "" ? DEFAULT_PREFIX : path.endsWith("/") ? path : `${path}/`;
  checkBucket(bucket);
  checkPrefix(prefix);
  const known: readonly string[] = PARAMETERS[scheme];
  const unknown = [...searchParams.keys()].find((name) => !known.includes(name));
  if (unknown !== undefined) {
    throw new ConfigurationError(`url has the unknown parameter '${unknown}'; there are ${known.join(", ")}.`);
  }
  const endpoint = searchParams.get("endpoint") ?? undefined;
  if (endpoint !== undefined && !/^https?:$/.test(URL.parse(endpoint)?.protocol ?? "")) {
    throw new ConfigurationError("endpoint is not a URL; it looks like https://ACCOUNT.r2.cloudflarestorage.com.");
  }
  const region = searchParams.get("region") ?? undefined;
  const service = scheme === "s3" ? ownS3(bucket, region, endpoint) : ownGcs(bucket, endpoint);
  return { service, bucket, prefix };
}

function ownS3(bucket: string, region: string | undefined, endpoint: string | undefined): ObjectService {
  return new S3Service(bucket, async () => {
    const sdk = await s3Sdk();
    // Services other than AWS may not support the SDK's default checksums, nor a bucket's name as a host.
    const elsewhere = {
      forcePathStyle: true,
      requestChecksumCalculation: "WHEN_REQUIRED",
      responseChecksumValidation: "WHEN_REQUIRED",
    } as const;
    const settings = {
      ...(region === undefined ? {} : { region }),
      ...(endpoint === undefined ? {} : { endpoint, ...elsewhere }),
    };
    const client = new sdk.S3Client(settings);
    return { client, sdk, isOwn: true };
  });
}

function ownGcs(bucket: string, apiEndpoint: string | undefined): ObjectService {
  return new GcsService(bucket, async () => {
    const { Storage } = await installed("@google-cloud/storage", import("@google-cloud/storage"));
    return new Storage(apiEndpoint === undefined ? {} : { apiEndpoint }) as never;
  });
}

async function s3Sdk(): Promise<typeof import("@aws-sdk/client-s3")> {
  return await installed("@aws-sdk/client-s3", import("@aws-sdk/client-s3"));
}

/** @throws {ConfigurationError} if the package cannot be loaded. */
async function installed<T>(name: string, loading: Promise<T>): Promise<T> {
  return await loading.catch((cause: unknown) => {
    throw new ConfigurationError(`The package ${name} cannot be loaded. Install it: npm install ${name}.`, { cause });
  });
}
