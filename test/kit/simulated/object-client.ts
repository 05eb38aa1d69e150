import { answerGcs } from "../object-server/gcs-protocol.ts";
import type { ObjectReply } from "../object-server/messages.ts";
import type { ObjectBucket } from "../object-server/object-bucket.ts";

const ORIGIN = "http://gcs.invalid";

/** A request, as a provider gives it to the SDK's client. */
interface Sent {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly data?: Uint8Array;
}

/** Brings a request to the service, and its reply back. @param operation the name of the request, for a network. */
export type Carry = (serve: () => ObjectReply, operation: string) => Promise<ObjectReply>;

/** Returns the parts of a `Storage` that the provider uses, on a bucket in this process. */
export function directClient(bucket: ObjectBucket, carry: Carry): object {
  const request = async ({ method, url, headers, data = new Uint8Array() }: Sent): Promise<object> => {
    const target = url.slice(ORIGIN.length);
    const {
      status,
      headers: replied,
      body,
    } = await carry(() => answerGcs(bucket, { method, target, headers, body: data }, "R"), `${method} ${target}`);
    return { status, headers: replied, data: Uint8Array.from(body).buffer };
  };
  return { bucket: () => undefined, apiEndpoint: ORIGIN, authClient: { request } };
}
