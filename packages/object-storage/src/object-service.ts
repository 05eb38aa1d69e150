import type { RequestOptions } from "@leasehold/core/provider";

/** A request as its errors name it, and the signal that ends it. */
export interface ObjectRequest extends Pick<RequestOptions, "operation" | "election"> {
  readonly signal: AbortSignal;
}

/** The headers of an object that belong to its content. A write replaces all of them. */
export const CONTENT_HEADERS = [
  "contentType",
  "cacheControl",
  "contentDisposition",
  "contentEncoding",
  "contentLanguage",
] as const;

/** The content of an object, and what belongs to it. */
export interface ObjectContent {
  readonly body: Uint8Array;
  readonly headers: Readonly<Partial<Record<(typeof CONTENT_HEADERS)[number], string>>>;
  /** The object's own metadata. Its keys are in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
}

/** Facts about the bucket that a reply shows. */
export interface BucketSigns {
  /** The text of a lifecycle rule that deletes this object. */
  readonly expiration?: string | undefined;
  /** True if this object was replicated from another bucket. */
  readonly isReplica?: boolean | undefined;
  /** True if the bucket keeps every version of an object. */
  readonly isVersioned?: boolean | undefined;
}

export interface FoundObject extends ObjectContent, BucketSigns {
  /** The version that a conditional write names: S3's ETag, or the generation of GCS. */
  readonly version: string;
  /** The date of the reply minus the date of the object, by the service's own clock. NaN if one of them is missing. */
  readonly ageMs: number;
}

export interface WrittenObject extends BucketSigns {
  readonly version: string;
}

/** A page of a list: the keys, and where the next page begins. */
export interface ObjectPage {
  readonly keys: readonly string[];
  readonly next: string | undefined;
}

/** The meaning of the bucket's settings for leases. */
export interface BucketSettings {
  /** Reasons why the bucket cannot hold leases. */
  readonly refusals: readonly string[];
  readonly warnings: readonly string[];
}

/** A service that stores objects, and can write an object on the condition of its version. Each method sends one request. */
export interface ObjectService {
  readonly name: "s3" | "gcs";
  /** True if the version is computed from the content, so that the same content has the same version again. */
  readonly versionIsOfContent: boolean;
  /** A version that no object has. */
  readonly impossibleVersion: string;

  /** Returns the object, or `undefined`. */
  get(key: string, request: ObjectRequest): Promise<FoundObject | undefined>;

  /**
   * Writes the object if it still has this version. With `undefined` it must not exist. Returns `undefined` if the condition did
   * not hold.
   */
  put(
    key: string,
    content: ObjectContent,
    ifVersion: string | undefined,
    request: ObjectRequest,
  ): Promise<WrittenObject | undefined>;

  /** Lists the keys that begin with a prefix, up to the next slash. */
  list(
    prefix: string,
    page: { readonly size: number; readonly from?: string | undefined },
    request: ObjectRequest,
  ): Promise<ObjectPage>;

  /**
   * Reads the bucket's settings, in several requests. A setting that the account may not read causes a warning.
   * @param prefix the beginning of the leases' keys. @param ticks the beginning of the keys that may be deleted.
   */
  settings(prefix: string, ticks: string, request: ObjectRequest): Promise<BucketSettings>;

  /** Closes what the store has opened itself. */
  close(): void;
}
