/** The service's record of one blob. */
interface Blob {
  metadata: Readonly<Record<string, string>>;
  etag: string;
  content: string;
  contentLength: number;
  modifiedMs: number;
  lease: BlobLease | undefined;
}

interface BlobLease {
  readonly id: string;
  readonly durationMs: number;
  /** The time at which it runs out without a renewal, by the service's clock. */
  readonly untilMs: number;
  /** The time at which a break ends it, by the service's clock. */
  readonly brokenAtMs?: number | undefined;
}

export type LeaseState = "available" | "leased" | "expired" | "breaking" | "broken";

/** The parts of a request that this service reads. */
export interface AzureRequest {
  readonly method: string;
  readonly url: string;
  readonly header: (name: string) => string | undefined;
  /** The metadata in its headers; the names are in lower case. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The text to upload; it may be empty. */
  readonly body: string;
}

export interface AzureReply {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/**
 * The part of Azure Blob Storage that leases, fences and notes use, with its rules for every state of a lease:
 * https://learn.microsoft.com/rest/api/storageservices/lease-blob#outcomes-of-lease-operations-on-blobs-by-lease-state
 */
export class AzureService {
  readonly #nowMs: () => number;
  readonly #blobs = new Map<string, Blob>();
  #hasContainer = false;
  #changes = 0;

  /** @param nowMs the service's own clock, in milliseconds since the Unix epoch. */
  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  answer(request: AzureRequest): AzureReply {
    const url = new URL(request.url);
    // http://<host>/<account>/<container>/<blob>
    const blob = url.pathname.split("/").slice(3).join("/");
    const reply =
      blob === "" ? this.#onContainer(url.searchParams, request) : this.#onBlob(blob, url.searchParams.get("comp"), request);
    return { ...reply, headers: { ...reply.headers, "x-ms-request-id": "r", date: new Date(this.#nowMs()).toUTCString() } };
  }

  metadata(name: string): Readonly<Record<string, string>> | undefined {
    return this.#blobs.get(name)?.metadata;
  }

  content(name: string): string {
    return this.#blobs.get(name)?.content ?? "";
  }

  /** Replaces a blob's metadata in any state of its lease, which no request can do. */
  overwrite(name: string, metadata: Readonly<Record<string, string>>): void {
    const blob = this.#blobs.get(name);
    if (blob) this.#change(blob, metadata);
  }

  /** Returns the lease of a blob, and when it will have run out, by the service's clock. */
  leaseOf(name: string): { readonly id: string; readonly state: LeaseState; readonly untilMs: number } | undefined {
    const blob = this.#blobs.get(name);
    if (!blob?.lease) return undefined;
    const { id, untilMs, brokenAtMs } = blob.lease;
    return { id, state: this.#state(blob), untilMs: brokenAtMs ?? untilMs };
  }

  #onContainer(query: URLSearchParams, { method }: AzureRequest): AzureReply {
    if (method === "GET") return this.#hasContainer ? this.#list(query) : failure(404, "ContainerNotFound");
    if (this.#hasContainer) return failure(409, "ContainerAlreadyExists");
    this.#hasContainer = true;
    return { status: 201, headers: {} };
  }

  #onBlob(name: string, comp: string | null, request: AzureRequest): AzureReply {
    if (!this.#hasContainer) return failure(404, "ContainerNotFound");
    const blob = this.#blobs.get(name);
    if (request.method === "PUT" && comp === null) return this.#upload(name, blob, request);
    if (!blob) return failure(404, "BlobNotFound");
    if (comp === "lease") return this.#lease(blob, request);
    if (comp === "metadata") return this.#setMetadata(blob, request);
    if (request.method === "DELETE") return this.#delete(name, blob, request);
    return { ...this.#properties(blob), ...(request.method === "GET" ? { body: blob.content } : {}) };
  }

  /** Answers with one page of the blobs, except those in folders below the prefix. */
  #list(query: URLSearchParams): AzureReply {
    const [prefix, from, most] = [query.get("prefix") ?? "", query.get("marker") ?? "", Number(query.get("maxresults"))];
    const named = [...this.#blobs].map(([path, blob]) => [decodeURIComponent(path), blob] as const);
    const found = named.filter(([name]) => name.startsWith(prefix) && !name.slice(prefix.length).includes("/") && name >= from);
    const sorted = found.toSorted(([one], [other]) => (one < other ? -1 : 1));
    const blobs = sorted.slice(0, most).map(([name, blob]) => this.#listed(name, blob));
    const next = xml("NextMarker", sorted[most]?.[0] ?? "");
    const body = `<?xml version="1.0" encoding="utf-8"?><EnumerationResults><Blobs>${blobs.join("")}</Blobs>${next}</EnumerationResults>`;
    return { status: 200, headers: { "content-type": "application/xml" }, body };
  }

  #listed(name: string, blob: Blob): string {
    const metadata = Object.entries(blob.metadata).map(([key, value]) => xml(key, value));
    const properties = [
      xml("Last-Modified", new Date(blob.modifiedMs).toUTCString()),
      xml("Etag", blob.etag),
      xml("Content-Length", String(blob.contentLength)),
      xml("LeaseState", this.#state(blob)),
    ];
    const parts = `<Properties>${properties.join("")}</Properties><Metadata>${metadata.join("")}</Metadata>`;
    return `<Blob>${xml("Name", name)}${parts}</Blob>`;
  }

  #properties(blob: Blob): AzureReply {
    const metadata = Object.entries(blob.metadata).map(([key, value]) => [`x-ms-meta-${key}`, value]);
    return {
      status: 200,
      headers: {
        ...(Object.fromEntries(metadata) as Record<string, string>),
        etag: blob.etag,
        "content-length": String(blob.contentLength),
        "last-modified": new Date(blob.modifiedMs).toUTCString(),
        "x-ms-lease-state": this.#state(blob),
      },
    };
  }

  #upload(name: string, blob: Blob | undefined, request: AzureRequest): AzureReply {
    if (blob && request.header("if-none-match") === "*") return failure(409, "BlobAlreadyExists");
    const refused = blob ? this.#refusal(blob, request) : undefined;
    if (refused) return refused;
    if (!blob && request.header("if-match") !== undefined) return failure(412, "ConditionNotMet");
    const written = blob ?? { metadata: {}, etag: "", content: "", contentLength: 0, modifiedMs: 0, lease: undefined };
    this.#blobs.set(name, written);
    written.content = request.body;
    written.contentLength = Number(request.header("content-length") ?? 0);
    this.#change(written, request.metadata);
    return { status: 201, headers: { etag: written.etag } };
  }

  #setMetadata(blob: Blob, request: AzureRequest): AzureReply {
    const refused = this.#refusal(blob, request);
    if (refused) return refused;
    this.#change(blob, request.metadata);
    return { status: 200, headers: { etag: blob.etag } };
  }

  #delete(name: string, blob: Blob, request: AzureRequest): AzureReply {
    const refused = this.#refusal(blob, request);
    if (refused) return refused;
    this.#blobs.delete(name);
    return { status: 202, headers: {} };
  }

  /** Returns why a write is refused, if it is: because of its condition, or of the lease. */
  #refusal(blob: Blob, { header }: AzureRequest): AzureReply | undefined {
    const [ifMatch, leaseId] = [header("if-match"), header("x-ms-lease-id")];
    const state = this.#state(blob);
    const isHeld = state === "leased" || state === "breaking";
    if (isHeld && leaseId === undefined) return failure(412, "LeaseIdMissing");
    if (isHeld && leaseId !== blob.lease?.id) return failure(412, "LeaseIdMismatchWithBlobOperation");
    if (!isHeld && leaseId !== undefined) return failure(412, blob.lease ? "LeaseLost" : "LeaseNotPresentWithBlobOperation");
    if (ifMatch !== undefined && ifMatch !== blob.etag) return failure(412, "ConditionNotMet");
    return undefined;
  }

  #lease(blob: Blob, { header }: AzureRequest): AzureReply {
    const ifMatch = header("if-match");
    if (ifMatch !== undefined && ifMatch !== blob.etag) return failure(412, "ConditionNotMet");
    switch (header("x-ms-lease-action")) {
      case "acquire":
        return this.#acquire(blob, header("x-ms-proposed-lease-id") ?? "", Number(header("x-ms-lease-duration")) * 1_000);
      case "renew":
        return this.#renew(blob, header("x-ms-lease-id") ?? "");
      case "release":
        return this.#release(blob, header("x-ms-lease-id") ?? "");
      default:
        return this.#break(blob, Number(header("x-ms-lease-break-period")) * 1_000);
    }
  }

  #acquire(blob: Blob, id: string, durationMs: number): AzureReply {
    const state = this.#state(blob);
    if (state === "leased" && blob.lease?.id !== id) return failure(409, "LeaseAlreadyPresent");
    if (state === "breaking") return failure(409, "LeaseIsBreakingAndCannotBeAcquired");
    blob.lease = { id, durationMs, untilMs: this.#nowMs() + durationMs };
    return { status: 201, headers: { etag: blob.etag, "x-ms-lease-id": id } };
  }

  #renew(blob: Blob, id: string): AzureReply {
    const { lease } = blob;
    if (!lease || lease.id !== id) return failure(409, "LeaseIdMismatchWithLeaseOperation");
    const state = this.#state(blob);
    if (state === "breaking" || state === "broken") return failure(409, "LeaseIsBrokenAndCannotBeRenewed");
    blob.lease = { ...lease, untilMs: this.#nowMs() + lease.durationMs };
    return { status: 200, headers: { etag: blob.etag, "x-ms-lease-id": id } };
  }

  #release(blob: Blob, id: string): AzureReply {
    if (blob.lease?.id !== id) return failure(409, "LeaseIdMismatchWithLeaseOperation");
    blob.lease = undefined;
    return { status: 200, headers: { etag: blob.etag } };
  }

  #break(blob: Blob, periodMs: number): AzureReply {
    const { lease } = blob;
    if (!lease) return failure(409, "LeaseNotPresentWithLeaseOperation");
    const state = this.#state(blob);
    const nowMs = this.#nowMs();
    // A lease that has ended is broken at once; one that is breaking may only be broken earlier.
    const leftMs = state === "leased" || state === "breaking" ? (lease.brokenAtMs ?? lease.untilMs) - nowMs : 0;
    const waitMs = Math.min(periodMs, leftMs);
    blob.lease = { ...lease, brokenAtMs: Math.min(nowMs + waitMs, lease.brokenAtMs ?? Infinity) };
    return { status: 202, headers: { etag: blob.etag, "x-ms-lease-time": String(Math.ceil(waitMs / 1_000)) } };
  }

  #state({ lease }: Blob): LeaseState {
    const nowMs = this.#nowMs();
    if (!lease) return "available";
    if (lease.brokenAtMs !== undefined) return nowMs < lease.brokenAtMs ? "breaking" : "broken";
    return nowMs < lease.untilMs ? "leased" : "expired";
  }

  #change(blob: Blob, metadata: Readonly<Record<string, string>>): void {
    this.#changes += 1;
    // The first write after a lease's end makes the service forget the lease: it cannot be renewed, released or broken any more.
    if (["expired", "broken"].includes(this.#state(blob))) blob.lease = undefined;
    blob.metadata = metadata;
    blob.etag = `"0x${this.#changes.toString(16)}"`;
    blob.modifiedMs = this.#nowMs();
  }
}

function xml(tag: string, text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return `<${tag}>${escaped}</${tag}>`;
}

function failure(status: number, code: string): AzureReply {
  return { status, headers: { "x-ms-error-code": code } };
}
