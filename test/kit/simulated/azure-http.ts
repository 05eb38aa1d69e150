import { AnonymousCredential, ContainerClient, newPipeline, type StoragePipelineOptions } from "@azure/storage-blob";
import type { AzureReply, AzureRequest } from "./azure-service.ts";

const METADATA = "x-ms-meta-";

/** A request as the SDK sends it. The simulated service ignores a blob's content, but others may use it. */
export interface SentRequest extends AzureRequest {
  /** The text to upload; it may be empty. */
  readonly body: string;
}

type HttpClient = NonNullable<StoragePipelineOptions["httpClient"]>;
type HttpRequest = Parameters<HttpClient["sendRequest"]>[0];
type HttpResponse = Awaited<ReturnType<HttpClient["sendRequest"]>>;

/** Returns a container of Azure's own SDK, with `send` in place of HTTP. */
export function containerOn(send: (request: SentRequest) => AzureReply | Promise<AzureReply>): ContainerClient {
  const sendRequest: HttpClient["sendRequest"] = async (request) => responseOf(request, await send(sentRequestOf(request)));
  // The SDK waits in real time before a retry. No run here lasts that long, so it does not retry.
  const pipeline = newPipeline(new AnonymousCredential(), { httpClient: { sendRequest }, retryOptions: { maxTries: 1 } });
  return new ContainerClient("http://storage.invalid/account/leases", pipeline);
}

function sentRequestOf({ method, url, headers, body }: HttpRequest): SentRequest {
  const metadata: Record<string, string> = {};
  for (const { name, value } of headers.headersArray()) {
    if (name.toLowerCase().startsWith(METADATA)) metadata[name.slice(METADATA.length).toLowerCase()] = value;
  }
  return { method, url, header: (name) => headers.get(name), metadata, body: typeof body === "string" ? body : "" };
}

/** Returns a response with the parts that the SDK reads. */
function responseOf(request: HttpRequest, { status, headers }: AzureReply): HttpResponse {
  const like = { get: (name: string) => headers[name.toLowerCase()], toJson: () => headers };
  return { request, status, headers: like, bodyAsText: "" } as unknown as HttpResponse;
}
