import {
  type BlobClient,
  ContainerClient,
  newPipeline,
  type AnonymousCredential,
  type StoragePipelineOptions,
  type StorageSharedKeyCredential,
} from "@azure/storage-blob";
import { ConfigurationError } from "@leasehold/core";
import { type Clock, checkOptions, decodeName, defineOptions, encodeName } from "@leasehold/core/provider";

/** A source of tokens, such as those of `@azure/identity`. */
export interface TokenCredential {
  getToken(scopes: string | string[], options?: object): Promise<{ token: string; expiresOnTimestamp: number } | null>;
}

/** The place of the leases. Give it in exactly one of four ways. */
export interface BlobLeaseStoreOptions {
  /** Your container client. The store reads its URL, credential and pipeline options, and does not change it. */
  readonly container?: ContainerClient | undefined;
  /** Your blob client. The store then has one election, whose name is the blob's. */
  readonly blob?: BlobClient | undefined;
  /** A connection string. Needs `containerName`. */
  readonly connectionString?: string | undefined;
  /** `https://<account>.blob.core.windows.net`. Needs `containerName`. */
  readonly accountUrl?: string | undefined;
  /** The container's name, for `connectionString` and `accountUrl`. */
  readonly containerName?: string | undefined;
  /**
   * The credential for `accountUrl`. @defaultValue `DefaultAzureCredential` of `@azure/identity`, which must then be installed
   */
  readonly credential?: TokenCredential | StorageSharedKeyCredential | AnonymousCredential | undefined;
  /**
   * True if the first candidate may create a missing container. Use it for development. Otherwise a missing container is
   * `STORE_MISSING`: a container created for a mistyped name would have a second leader. @defaultValue false
   */
  readonly createContainer?: boolean | undefined;
  /** @defaultValue the system's clock */
  readonly clock?: Clock | undefined;
}

/** The names of all options. */
export const BLOB_STORE_OPTIONS: Readonly<Record<keyof BlobLeaseStoreOptions, true>> = defineOptions<BlobLeaseStoreOptions>()(
  "container blob connectionString accountUrl containerName credential createContainer clock",
);

/** A container whose client sends each request once, and the names of the blobs in it. */
export interface BlobPlace {
  readonly container: ContainerClient;
  readonly createsContainer: boolean;
  /** Returns the name of an election's blob. @throws {ConfigurationError} if the store cannot hold that election. */
  blobName(election: string): string;
  /** Returns a prefix of the names of all blobs whose elections begin with this text. */
  blobPrefix(prefix: string): string;
  /** Returns the election of a blob with this name; `undefined` if it is not an election's. */
  electionOf(blobName: string): string | undefined;
  /**
   * Returns the prefix of the blobs of an election's occurrences.
   * @throws {ConfigurationError} if the store cannot hold occurrences.
   */
  occurrencePrefix(election: string): string;
  /** Returns the prefix of the blobs of records. @throws {ConfigurationError} if the store cannot hold records. */
  recordPrefix(): string;
}

/**
 * The service's limit.
 * https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
 */
const MAX_BLOB_NAME = 1_024;
/** The limit for a lease's blob. The name of its sibling, the note, is a few characters longer. */
const MAX_LEASE_BLOB_NAME = 1_000;
const WAYS =
  "a container (ContainerClient), a blob (BlobClient), connectionString with containerName, or accountUrl with containerName";

/** Resolves the options. @throws {ConfigurationError} unless exactly one way is given, in a valid form. */
export function resolvePlace(options: BlobLeaseStoreOptions): BlobPlace {
  checkOptions("BlobLeaseStore", options, BLOB_STORE_OPTIONS);
  const given = (["container", "blob", "connectionString", "accountUrl"] as const).filter((name) => options[name] !== undefined);
  if (given.length !== 1) {
    throw new ConfigurationError(`BlobLeaseStore needs exactly one of ${WAYS}; it was given ${given.join(" and ") || "none"}.`);
  }
  const { blob } = options;
  const createsContainer = options.createContainer === true;
  if (blob !== undefined) return { ...placeOfBlob(blob), createsContainer };
  return { ...placeIn(containerOf(options)), createsContainer };
}

function containerOf({
  container,
  connectionString,
  accountUrl,
  credential,
  containerName: name,
}: BlobLeaseStoreOptions): ContainerClient {
  if (container !== undefined) return oneTry(checkClient(container, "container"));
  const containerName = checkContainerName(name);
  if (connectionString !== undefined) return fromConnectionString(connectionString, containerName);
  return fromAccountUrl(accountUrl, containerName, credential);
}

/** A place without the properties that are the same for every kind of place. */
type PlainPlace = Omit<BlobPlace, "createsContainer">;

/**
 * Returns the name of an occurrence's blob, which begins with its election's prefix.
 * @throws {ConfigurationError} if the two names together are too long.
 */
export function occurrenceBlobName(prefix: string, occurrence: string): string {
  return checkLength(prefix + encodeName(occurrence), MAX_BLOB_NAME, "The occurrence, below its election's name,", occurrence);
}

function placeIn(container: ContainerClient): PlainPlace {
  return {
    container,
    blobName: (election) => checkLength(encodeName(election), MAX_LEASE_BLOB_NAME, "election", election),
    blobPrefix: (prefix) => encodeName(prefix),
    electionOf: decodeName,
    occurrencePrefix: (election) => `${OCCURRENCES}/${encodeName(election)}/`,
    recordPrefix: () => `${RECORDS}/`,
  };
}

/** The folder of all occurrences. A lease's blob never has a slash in its name. */
const OCCURRENCES = "ticks";
/** The folder of all records. */
const RECORDS = "records";

function checkLength(name: string, most: number, what: string, election: string): string {
  if (name.length <= most) return name;
  throw new ConfigurationError(`${what} takes ${name.length} characters as a blob's name; at most ${most} fit.`, { election });
}

function placeOfBlob(blob: BlobClient): PlainPlace {
  const { name, containerName, accountName } = checkClient(blob, "blob");
  const url = new URL(blob.url);
  // The URL is https://<account>.<domain>/<container>/<blob>, or http://<host>/<account>/<container>/<blob>.
  const account = url.hostname.startsWith(`${accountName}.`) ? "" : `/${accountName}`;
  url.pathname = `${url.pathname.startsWith(`${account}/${containerName}/`) ? account : ""}/${containerName}`;
  return {
    container: new ContainerClient(url.href, oneTryPipeline(blob)),
    blobName(election) {
      if (election === name) return name;
      throw new ConfigurationError(
        `This store holds one blob, '${name}', and so one election of that name; pass a container for others.`,
        {
          election,
        },
      );
    },
    blobPrefix: () => name,
    electionOf: (blobName) => (blobName === name ? name : undefined),
    occurrencePrefix(election) {
      throw new ConfigurationError(
        `This store holds one blob, '${name}', and so has no place for occurrences; pass its container instead.`,
        { election },
      );
    },
    recordPrefix() {
      throw new ConfigurationError(
        `This store holds one blob, '${name}', and so has no place for records; pass its container instead.`,
      );
    },
  };
}

function fromConnectionString(connectionString: string, containerName: string): ContainerClient {
  try {
    return new ContainerClient(connectionString, containerName, { retryOptions: { maxTries: 1 } });
  } catch {
    // The SDK's message may quote the string, which contains a key.
    throw new ConfigurationError(
      "connectionString is not a storage connection string; take it from the account's access keys page.",
    );
  }
}

function fromAccountUrl(
  accountUrl: string | undefined,
  containerName: string,
  credential: BlobLeaseStoreOptions["credential"],
): ContainerClient {
  if (!accountUrl || !URL.canParse(accountUrl) || !/^https?:$/.test(new URL(accountUrl).protocol)) {
    throw new ConfigurationError("accountUrl is not a URL; it looks like https://<account>.blob.core.windows.net.");
  }
  // Accepts a token credential, or one of the SDK's own, which create policies.
  const fits =
    credential === undefined ||
    (typeof credential === "object" && credential !== null && ("getToken" in credential || "create" in credential));
  if (!fits) {
    throw new ConfigurationError(
      "credential is not a credential: pass one of @azure/identity, a StorageSharedKeyCredential or an AnonymousCredential, or leave it out.",
    );
  }
  const url = new URL(accountUrl);
  url.pathname = `${url.pathname.replace(/\/$/, "")}/${containerName}`;
  return new ContainerClient(url.href, newPipeline(credential ?? defaultCredential(), { retryOptions: { maxTries: 1 } }));
}

/** Returns `DefaultAzureCredential`, loaded at the first request. Most users give a client, and do not need the package. */
function defaultCredential(): TokenCredential {
  let loaded: Promise<TokenCredential> | undefined;
  const load = async (): Promise<TokenCredential> => {
    try {
      const { DefaultAzureCredential } = await import("@azure/identity");
      return new DefaultAzureCredential();
    } catch (cause) {
      throw new ConfigurationError(
        "accountUrl without a credential needs the package @azure/identity: install it, or pass a credential.",
        {
          cause,
        },
      );
    }
  };
  return {
    async getToken(scopes, options) {
      loaded ??= load();
      return await (await loaded).getToken(scopes, options);
    },
  };
}

/**
 * Returns the same container with the SDK's retries off. Four tries with waits of 0, 4 and 12 s would outlive a lease of 15 s.
 */
function oneTry(container: ContainerClient): ContainerClient {
  return new ContainerClient(container.url, oneTryPipeline(container));
}

function oneTryPipeline(client: ContainerClient | BlobClient): ReturnType<typeof newPipeline> {
  // The client's own options (proxy, user agent, HTTP client) are in its pipeline, which the SDK declares protected.
  const { pipeline } = client as unknown as { pipeline?: { options?: StoragePipelineOptions } };
  return newPipeline(client.credential, { ...pipeline?.options, retryOptions: { maxTries: 1 } });
}

/** Returns whether the object is a blob's client. Checks its methods, because two copies of the SDK may be installed. */
export function isBlobClient(client: unknown): client is BlobClient {
  return isClient(client) && "downloadToBuffer" in client;
}

function isClient(client: unknown): client is object {
  const { url, credential } = (client ?? {}) as Partial<BlobClient>;
  return typeof url === "string" && typeof credential === "object";
}

function checkClient<T extends ContainerClient | BlobClient>(client: T, what: "container" | "blob"): T {
  if (what === "blob" ? isBlobClient(client) : isClient(client) && "listBlobsFlat" in client) return client;
  throw new ConfigurationError(
    `${what} is not a ${what === "container" ? "ContainerClient" : "BlobClient"} of @azure/storage-blob. Pass ${WAYS}.`,
  );
}

function checkContainerName(name: string | undefined): string {
  // https://learn.microsoft.com/rest/api/storageservices/naming-and-referencing-containers--blobs--and-metadata
  if (typeof name === "string" && (name === "$root" || /^(?=.{3,63}$)[a-z0-9]+(-[a-z0-9]+)*$/.test(name))) return name;
  // A longer text may be a key or a connection string in the wrong place.
  const given = typeof name === "string" && name.length > 63 ? `of ${name.length} characters` : JSON.stringify(name);
  throw new ConfigurationError(
    `containerName is ${given ?? "missing"}; it must have 3 to 63 lower-case letters, digits and single hyphens.`,
  );
}
