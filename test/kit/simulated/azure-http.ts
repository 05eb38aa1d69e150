import { Readable } from "node:stream";
import { AnonymousCredential, ContainerClient, newPipeline, type StoragePipelineOptions } from "@azure/storage-blob";
import type { AzureReply, AzureRequest } from "./azure-service.ts";

const METADATA = "x-ms-meta-";

type HttpClient = NonNullable<StoragePipelineOptions["httpClient"]>;
type HttpRequest = Parameters<HttpClient["sendRequest"]>[0];
type HttpResponse = Awaited<ReturnType<HttpClient["sendRequest"]>>;

/** Returns a container of Azure's own SDK, with `send` in place of HTTP. */
export function containerOn(send: (request: AzureRequest) => AzureReply | Promise<AzureReply>): ContainerClient {
  const sendRequest: HttpClient["sendRequest"] = async (request) => responseOf(request, await send(requestOf(request)));
  // The SDK waits in real time before a retry. No run here lasts that long, so it does not retry.
  const pipeline = newPipeline(new AnonymousCredential(), { httpClient: { sendRequest }, retryOptions: { maxTries: 1 } });
  return new ContainerClient("http://storage.invalid/account/leases", pipeline);
}

function requestOf({ method, url, headers, body }: HttpRequest): AzureRequest {
  const metadata: Record<string, string> = {};
  for (const { name, value } of headers.headersArray()) {
    if (name.toLowerCase().startsWith(METADATA)) metadata[name.slice(METADATA.length).toLowerCase()] = value;
  }
  return { method, url, header: (name) => headers.get(name), metadata, body: textOf(body) };
}

/** Returns a response with the parts that the SDK reads. */
function responseOf(request: HttpRequest, { status, headers, body = "" }: AzureReply): HttpResponse {
  const like = { get: (name: string) => headers[name.toLowerCase()], toJson: () => headers };
  const isDownload = request.method === "GET" && headers["content-type"] !== "application/xml";
  const content = isDownload ? { readableStreamBody: Readable.from([Buffer.from(body)]) } : { bodyAsText: body };
  return { request, status, headers: like, ...content } as unknown as HttpResponse;
}

function textOf(body: HttpRequest["body"]): string {
  if (body instanceof Uint8Array) return new TextDecoder().decode(body);
  return typeof body === "string" ? body : "";
}
