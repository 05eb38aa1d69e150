import type { PutObjectCommandInput, S3Client } from "@aws-sdk/client-s3";
import { ConfigurationError } from "@leasehold/core";
import { onAbort } from "@leasehold/core/provider";
import {
  CONTENT_HEADERS,
  type BucketSettings,
  type BucketSigns,
  type FoundObject,
  type ObjectContent,
  type ObjectPage,
  type ObjectRequest,
  type ObjectService,
  type WrittenObject,
} from "../object-service.ts";
import { failureOf, foreignAnswer, isConditionFailed, isMissingObject, ServiceFailure, toStoreError } from "../object-errors.ts";
import { ageOf, contentOf, type ReplyHeaders } from "../reply-headers.ts";
import { sendOnce } from "./s3-requests.ts";
import { settingsOf } from "./s3-settings.ts";

/** The user's client, and the SDK with its commands. Both are loaded at the first request. */
export interface S3Access {
  readonly client: S3Client;
  readonly sdk: typeof import("@aws-sdk/client-s3");
  /** True if the store has made the client. */
  readonly isOwn: boolean;
}

/** The body in a reply of the SDK. */
interface Body {
  transformToByteArray(): Promise<Uint8Array>;
  destroy?(error: Error): void;
}

/** S3, and every service that speaks its protocol. A version is an ETag. */
export class S3Service implements ObjectService {
  readonly name = "s3";
  readonly versionIsOfContent = true;
  /** An ETag has 32 digits or more, so no object has this one. */
  readonly impossibleVersion = '"never"';
  readonly #bucket: string;
  readonly #open: () => Promise<S3Access>;
  #access: Promise<S3Access> | undefined;

  constructor(bucket: string, open: () => Promise<S3Access>) {
    this.#bucket = bucket;
    this.#open = open;
  }

  async get(key: string, request: ObjectRequest): Promise<FoundObject | undefined> {
    try {
      return await this.#send(request, false, async ({ client, sdk }) => {
        const command = new sdk.GetObjectCommand({ Bucket: this.#bucket, Key: key });
        const { output, names, headers } = await sendOnce(client, command, request.signal);
        const body = await bytesOf(output.Body as Body | undefined, request.signal);
        return {
          body,
          version: versionOf(output),
          ageMs: ageOf(headers),
          ...contentOf(names, headers, "x-amz-meta-"),
          ...signsOf(headers),
        };
      });
    } catch (error) {
      if (isMissingObject(failureOf(error))) return undefined;
      throw error;
    }
  }

  async put(
    key: string,
    { body, headers: content, metadata }: ObjectContent,
    ifVersion: string | undefined,
    request: ObjectRequest,
  ): Promise<WrittenObject | undefined> {
    const condition = ifVersion === undefined ? { IfNoneMatch: "*" } : { IfMatch: ifVersion };
    const fields = CONTENT_HEADERS.map((field) => [field.charAt(0).toUpperCase() + field.slice(1), content[field]]);
    const input: PutObjectCommandInput = { Bucket: this.#bucket, Key: key, Body: body, Metadata: { ...metadata }, ...condition };
    try {
      return await this.#send(request, true, async ({ client, sdk }) => {
        const command = new sdk.PutObjectCommand({ ...input, ...(Object.fromEntries(fields) as Partial<PutObjectCommandInput>) });
        const { output, headers } = await sendOnce(client, command, request.signal);
        return { version: versionOf(output), ...signsOf(headers) };
      });
    } catch (error) {
      if (isConditionFailed(failureOf(error), ifVersion)) return undefined;
      throw error;
    }
  }

  async list(
    prefix: string,
    { size, from }: { readonly size: number; readonly from?: string | undefined },
    request: ObjectRequest,
  ): Promise<ObjectPage> {
    return await this.#send(request, false, async ({ client, sdk }) => {
      const page = { Bucket: this.#bucket, Prefix: prefix, Delimiter: "/", MaxKeys: size, ContinuationToken: from };
      const { output } = await sendOnce(client, new sdk.ListObjectsV2Command(page), request.signal);
      return { keys: (output.Contents ?? []).flatMap(({ Key }) => Key ?? []), next: output.NextContinuationToken };
    });
  }

  async settings(prefix: string, ticks: string, request: ObjectRequest): Promise<BucketSettings> {
    return await this.#send(request, false, async ({ client, sdk }) => {
      return await settingsOf({ client, sdk, bucket: this.#bucket, prefix, ticks, signal: request.signal });
    });
  }

  close(): void {
    const close = ({ client, isOwn }: S3Access): void => void (isOwn && client.destroy());
    this.#access?.then(close, () => undefined);
  }

  /** @throws {StoreError} for every failure. */
  async #send<T>(request: ObjectRequest, writes: boolean, send: (access: S3Access) => Promise<T>): Promise<T> {
    try {
      this.#access ??= this.#open();
      return await send(await this.#access);
    } catch (error) {
      if (failureOf(error).message === NO_REGION) throw noRegion(request.election, error);
      throw toStoreError(error, this.name, request, writes);
    }
  }
}

/** The message of the SDK's plain `Error` for the first request of a client without a region. */
const NO_REGION = "Region is missing";

function noRegion(election: string, cause: unknown): ConfigurationError {
  const remedy = "Set AWS_REGION, or give the store a client: new S3Client({ region }).";
  return new ConfigurationError(`s3: no region is set. ${remedy}`, { election, cause });
}

/**
 * @throws {ServiceFailure} if a gateway has removed the ETag. For an empty ETag the SDK would send the next write without a
 * condition.
 */
function versionOf({ ETag: version }: { readonly ETag?: string | undefined }): string {
  if (!version) throw new ServiceFailure(foreignAnswer("it has no ETag"));
  return version;
}

async function bytesOf(body: Body | undefined, signal: AbortSignal): Promise<Uint8Array> {
  // The SDK ignores the signal once the headers of the reply have arrived.
  const stopListening = onAbort(signal, (reason) => body?.destroy?.(reason));
  try {
    return (await body?.transformToByteArray()) ?? new Uint8Array();
  } finally {
    stopListening();
  }
}

function signsOf(headers: ReplyHeaders): BucketSigns {
  const id = headers("x-amz-version-id");
  return {
    expiration: headers("x-amz-expiration"),
    isReplica: headers("x-amz-replication-status") === "REPLICA",
    isVersioned: id !== undefined && id !== "null",
  };
}
