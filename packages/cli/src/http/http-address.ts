import { ConfigurationError } from "@leasehold/core";

/** An address to listen on. */
export type HttpAddress =
  | { readonly kind: "tcp"; readonly host: string; readonly port: number }
  | { readonly kind: "unix"; readonly path: string };

/** The default address of `serve`. Only this machine can reach it. */
export const DEFAULT_ADDRESS = "127.0.0.1:4040";

/**
 * Parses `127.0.0.1:4040`, `[::1]:4040`, `0.0.0.0:4040` or `unix:/run/app/leasehold.sock`. Port 0 means any free port.
 * @throws {ConfigurationError} for anything else. A port alone is refused: it could mean this machine or the whole network.
 */
export function parseHttpAddress(text: string): HttpAddress {
  const [, path] = /^unix:(\/.*[^/])$/.exec(text) ?? [];
  if (path !== undefined) return { kind: "unix", path };
  const [, bracketed, plain, digits = ""] = /^(?:\[([\da-fA-F:.]+)\]|([^:/[\]\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host !== undefined && port <= 65_535) return { kind: "tcp", host, port };
  const advice = /^:?\d+$/.test(text)
    ? `Say 127.0.0.1:${text.replace(":", "")} for this machine, or 0.0.0.0:${text.replace(":", "")} for the network.`
    : "Write it as 127.0.0.1:4040, [::1]:4040 or unix:/path/to/socket.";
  throw new ConfigurationError(`--http is '${text}', which is no address. ${advice}`);
}
