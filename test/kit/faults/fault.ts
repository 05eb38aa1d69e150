/**
 * A fault of one request at a `FaultProxy`.
 * - `delay`: waits before it forwards the request, and before it passes the reply on.
 * - `black-hole`: never answers. On side `request` the service does not get the request; on side `reply` the service has applied
 *   it, and only the answer is lost.
 * - `cut`: closes the client's connection. `before`: before the request is forwarded. `after`: after the service has answered,
 *   without a byte of the reply. `mid-reply`: with half of the body sent, or half of the head if there is no body.
 * - `answer`: answers in place of the service, which does not get the request, with only these headers and `Content-Length`.
 * - `duplicate`: forwards the request twice, the second time after the first reply, and passes the second reply on.
 * - `hold`: forwards the request only once `until` resolves, even if the client has gone away by then, like a request that the
 *   network delivers late. If `until` rejects, the request is lost like one with `cut` `before`.
 */
export type Fault =
  | { readonly kind: "delay"; readonly requestMs?: number | undefined; readonly replyMs?: number | undefined }
  | { readonly kind: "black-hole"; readonly side: "request" | "reply" }
  | { readonly kind: "cut"; readonly side: "before" | "after" | "mid-reply" }
  | {
      readonly kind: "answer";
      readonly status: number;
      readonly headers?: Readonly<Record<string, string>> | undefined;
      readonly body?: string | undefined;
    }
  | { readonly kind: "duplicate" }
  | { readonly kind: "hold"; readonly until: Promise<void> };
