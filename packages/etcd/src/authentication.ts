import { isTokenRefused } from "./etcd-errors.ts";
import type { CallOptions, EtcdPath, EtcdReply, EtcdTransport, Json } from "./transport.ts";

/** A user of etcd. */
export interface EtcdUser {
  readonly name: string;
  readonly password: string;
}

/**
 * Returns a transport that sends each request as a user. It gets a token before the first request, and a new one if etcd refuses
 * the token. A token expires after some time, and at each change of users and roles.
 */
export function authenticated(transport: EtcdTransport, user: EtcdUser): EtcdTransport {
  let known: string | undefined;
  let asking: Promise<string> | undefined;

  async function ask(options: CallOptions): Promise<string> {
    const { body } = await transport.call("/v3/auth/authenticate", { ...user }, options);
    known = String(body["token"]);
    return known;
  }

  /**
   * Gets one token for all waiting requests, because etcd takes a tenth of a second to check each password. If that fails, the
   * next waiting request tries.
   */
  async function freshToken(options: CallOptions): Promise<string> {
    while (asking) {
      const token = await asking.catch(() => undefined);
      options.signal.throwIfAborted();
      if (token !== undefined) return token;
    }
    asking = ask(options);
    try {
      return await asking;
    } finally {
      asking = undefined;
    }
  }

  async function call(path: EtcdPath, body: Json, options: CallOptions): Promise<EtcdReply> {
    const token = known ?? (await freshToken(options));
    try {
      return await transport.call(path, body, { ...options, token });
    } catch (error) {
      if (!isTokenRefused(error)) throw error;
      if (known === token) known = undefined;
      return transport.call(path, body, { ...options, token: known ?? (await freshToken(options)) });
    }
  }

  async function* watch(requests: readonly Json[], options: CallOptions): AsyncGenerator<Json, void, undefined> {
    const token = known ?? (await freshToken(options));
    try {
      yield* transport.watch(requests, { ...options, token });
    } catch (error) {
      // The caller begins the watch again, with a fresh token.
      if (isTokenRefused(error) && known === token) known = undefined;
      throw error;
    }
  }

  return { call, watch, leave: (endpoint) => transport.leave?.(endpoint) };
}
