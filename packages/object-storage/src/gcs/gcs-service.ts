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
import { ageOf, contentOf, headerName, type ReplyHeaders } from "../reply-headers.ts";
import { sendOnce, type GcsClient, type GcsReply, type GcsRequest } from "./gcs-requests.ts";
import { settingsOf, type BucketResource } from "./gcs-settings.ts";

/**
 * Google Cloud Storage. A version is a generation. The XML API reads and writes objects, because its replies have the content and
 * the generation together. The JSON API reads lists and settings. https://cloud.google.com/storage/docs/xml-api/reference-headers
 */
export class GcsService implements ObjectService {
  readonly name = "gcs";
  readonly versionIsOfContent = false;
  /** A generation is a time in microseconds, so no object has generation 1. */
  readonly impossibleVersion = "1";
  readonly #bucket: string;
  readonly #open: () => Promise<GcsClient>;
  #client: Promise<GcsClient> | undefined;

  constructor(bucket: string, open: () => Promise<GcsClient>) {
    this.#bucket = bucket;
    this.#open = open;
  }

  async get(key: string, request: ObjectRequest): Promise<FoundObject | undefined> {
    const make = (api: string): GcsRequest => ({ method: "GET", url: this.#objectUrl(api, key) });
    const reply = await this.#send(request, false, make, versioned).catch(unlessMissing);
    if (!reply) return undefined;
    const { body, names, headers, version } = reply;
    return { body, version, ageMs: ageOf(headers), ...contentOf(names, headers, "x-goog-meta-"), ...signsOf(headers) };
  }

  async put(
    key: string,
    { body, headers, metadata }: ObjectContent,
    ifVersion: string | undefined,
    request: ObjectRequest,
  ): Promise<WrittenObject | undefined> {
    const own = Object.entries(metadata).map(([name, value]) => [`x-goog-meta-${name}`, value]);
    const content = CONTENT_HEADERS.flatMap((field) =>
      headers[field] === undefined ? [] : [[headerName(field), headers[field]]],
    );
    const condition = ["x-goog-if-generation-match", ifVersion ?? "0"];
    const written = { ...(Object.fromEntries([...own, ...content, condition]) as Record<string, string>) };
    try {
      const make = (api: string): GcsRequest => ({ method: "PUT", url: this.#objectUrl(api, key), headers: written, body });
      const reply = await this.#send(request, true, make, versioned);
      return { version: reply.version, ...signsOf(reply.headers) };
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
    const asked = { prefix, delimiter: "/", maxResults: String(size), fields: "items(name),nextPageToken" };
    const query = new URLSearchParams({ ...asked, ...(from === undefined ? {} : { pageToken: from }) });
    const make = (api: string): GcsRequest => ({ method: "GET", url: `${this.#bucketUrl(api)}/o?${query.toString()}` });
    const reply = await this.#send(request, false, make, plain);
    const { items = [], nextPageToken } = jsonOf(reply) as { items?: readonly { name: string }[]; nextPageToken?: string };
    return { keys: items.map(({ name }) => name), next: nextPageToken };
  }

  async settings(prefix: string, ticks: string, request: ObjectRequest): Promise<BucketSettings> {
    const make = (api: string): GcsRequest => ({ method: "GET", url: this.#bucketUrl(api) });
    const reply = await this.#send(request, false, make, plain).catch((error: unknown) => {
      if (failureOf(error).status !== 403) throw error;
      return undefined;
    });
    return settingsOf(reply && (jsonOf(reply) as BucketResource), prefix, ticks);
  }

  close(): void {
    // The SDK uses connections of the whole process, so there is nothing to close.
  }

  #objectUrl(api: string, key: string): string {
    return `${api}/${this.#bucket}/${key.split("/").map(encodeURIComponent).join("/")}`;
  }

  #bucketUrl(api: string): string {
    return `${api}/storage/v1/b/${this.#bucket}`;
  }

  /** @throws {StoreError} for every failure. */
  async #send<Reply>(
    request: ObjectRequest,
    writes: boolean,
    make: (api: string) => GcsRequest,
    take: (reply: GcsReply) => Reply,
  ): Promise<Reply> {
    try {
      this.#client ??= this.#open();
      const client = await this.#client;
      return take(await sendOnce(client, make(client.apiEndpoint), request.signal));
    } catch (error) {
      throw toStoreError(error, this.name, request, writes);
    }
  }
}

function unlessMissing(error: unknown): undefined {
  if (!isMissingObject(failureOf(error))) throw error;
}

const plain = (reply: GcsReply): GcsReply => reply;

/** @throws {ServiceFailure} if a gateway has removed the generation. */
function versioned(reply: GcsReply): GcsReply & { readonly version: string } {
  const version = reply.headers("x-goog-generation");
  if (!version) throw new ServiceFailure(foreignAnswer("it has no x-goog-generation"));
  return { ...reply, version };
}

function jsonOf({ body }: GcsReply): unknown {
  return JSON.parse(new TextDecoder().decode(body));
}

function signsOf(headers: ReplyHeaders): BucketSigns {
  return { expiration: headers("x-goog-expiration") };
}
