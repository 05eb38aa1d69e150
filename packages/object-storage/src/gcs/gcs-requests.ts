import type { Storage } from "@google-cloud/storage";
import { foreignAnswer, ServiceFailure, type ObjectFailure } from "../object-errors.ts";
import type { ReplyHeaders } from "../reply-headers.ts";

/** One HTTP request. */
export interface GcsRequest {
  readonly method: "GET" | "PUT";
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Uint8Array;
}

export interface GcsReply {
  readonly body: Uint8Array;
  readonly names: readonly string[];
  readonly headers: ReplyHeaders;
}

/** The parts of a `Storage` that this module uses. `customEndpoint` and `useAuthWithCustomEndpoint` are not public. */
export type GcsClient = Pick<Storage, "apiEndpoint" | "authClient"> & {
  readonly customEndpoint?: boolean;
  readonly useAuthWithCustomEndpoint?: boolean;
};

/** A reply of either HTTP client. */
interface RawReply {
  readonly status: number;
  readonly headers: Headers | Readonly<Record<string, string>>;
  readonly data: ArrayBuffer;
}

/**
 * Sends one request with the credentials of the user's `Storage`, once, until the signal aborts. The methods of `Storage` send a
 * request up to four times, and none can be cancelled.
 * @throws {ServiceFailure} for every failure.
 */
export async function sendOnce(client: GcsClient, request: GcsRequest, signal: AbortSignal): Promise<GcsReply> {
  let reply: RawReply;
  try {
    signal.throwIfAborted();
    reply = await (needsCredentials(client) ? withCredentials(client, request, signal) : plainly(request, signal));
  } catch (error) {
    throw new ServiceFailure(failureOfSdk(error));
  }
  const { status, data } = reply;
  const { names, headers } = headersOf(reply.headers);
  const body = new Uint8Array(data);
  if (status < 200 || status >= 300) throw new ServiceFailure(refusal(status, body, headers));
  // Captive portals and proxies may answer any request with success.
  if (!isFromService(headers)) throw new ServiceFailure(foreignAnswer("it has no x-guploader-uploadid"));
  if (headers("age") !== undefined)
    throw new ServiceFailure(foreignAnswer("it has the header Age, so that it comes from a cache"));
  return { body, names, headers };
}

/** Returns whether `client` is a `Storage`. Checks its members, because two copies of the SDK may be installed. */
export function isGcsClient(client: unknown): client is GcsClient {
  const { bucket, authClient, apiEndpoint } = (client ?? {}) as Partial<Storage>;
  return typeof bucket === "function" && typeof authClient?.request === "function" && typeof apiEndpoint === "string";
}

/** Sends no credentials to an emulator, like the methods of `Storage`. */
function needsCredentials({ customEndpoint, useAuthWithCustomEndpoint }: GcsClient): boolean {
  return customEndpoint !== true || useAuthWithCustomEndpoint === true;
}

async function withCredentials(
  { authClient }: GcsClient,
  { method, url, headers = {}, body }: GcsRequest,
  signal: AbortSignal,
): Promise<RawReply> {
  const data = body === undefined ? {} : { data: Buffer.from(body) };
  // Makes the SDK throw for 401 only, because it then gets new credentials. Every other status is an answer.
  const validateStatus = (status: number): boolean => status !== 401;
  const options = {
    method,
    url,
    headers: { ...headers },
    ...data,
    signal,
    retry: false,
    responseType: "arraybuffer",
    validateStatus,
  };
  return (await authClient.request<ArrayBuffer>(options as Parameters<typeof authClient.request>[0])) as RawReply;
}

async function plainly({ method, url, headers = {}, body }: GcsRequest, signal: AbortSignal): Promise<RawReply> {
  const reply = await fetch(url, { method, headers, ...(body === undefined ? {} : { body }), signal });
  return { status: reply.status, headers: reply.headers, data: await reply.arrayBuffer() };
}

function headersOf(found: RawReply["headers"]): Pick<GcsReply, "names" | "headers"> {
  // Older versions of the SDK's client return a plain object.
  const all = found instanceof Headers ? found : new Headers(found);
  return { names: [...all.keys()], headers: (name) => all.get(name) ?? undefined };
}

function isFromService(headers: ReplyHeaders): boolean {
  return headers("x-guploader-uploadid") !== undefined;
}

/** Reads an error of the XML API, or of the JSON API. */
function refusal(status: number, body: Uint8Array, headers: ReplyHeaders): ObjectFailure {
  const text = new TextDecoder().decode(body);
  const part = (name: string): string | undefined =>
    new RegExp(`<${name}>([^<]*)</${name}>|"${name.toLowerCase()}": ?"([^"]*)"`).exec(text)?.slice(1).find(Boolean);
  const code = part("Code") ?? part("Reason") ?? "Error";
  const details = [part("Message"), part("Details")].filter((one) => one !== undefined).join(" ");
  return { status, code, message: details, isFromService: isFromService(headers), retryAfter: headers("retry-after") };
}

function failureOfSdk(error: unknown): ObjectFailure {
  const {
    name = "Error",
    code,
    message = "",
    status,
    response,
    cause,
  } = (error ?? {}) as {
    readonly name?: string;
    readonly code?: string | number;
    readonly message?: string;
    readonly status?: number;
    readonly response?: Partial<RawReply>;
    readonly cause?: { readonly code?: string; readonly message?: string };
  };
  const answered = response?.status ?? status;
  if (answered !== undefined && response?.headers !== undefined) {
    const { headers } = headersOf(response.headers);
    const { data } = response;
    if (isFromService(headers))
      return refusal(answered, data instanceof ArrayBuffer ? new Uint8Array(data) : new Uint8Array(), headers);
    // This error comes from the token service: the SDK throws for no other answer of the storage service than 401.
    return {
      status: 0,
      code: answered === 429 || answered >= 500 ? "NoTokenService" : "NoCredentials",
      message,
      isFromService: false,
    };
  }
  if (/default credentials/.test(message)) return { status: 0, code: "NoCredentials", message, isFromService: false };
  const socket = [code, cause?.code].find((one) => typeof one === "string");
  return { status: 0, code: socket ?? name, message: cause?.message ?? message, isFromService: false };
}
