import { expect, test } from "vitest";
import { parseHttpAddress } from "../src/http/http-address.ts";

test("parses addresses of this machine, of the network, and of a Unix socket", () => {
  expect(parseHttpAddress("127.0.0.1:4040")).toEqual({ kind: "tcp", host: "127.0.0.1", port: 4040 });
  expect(parseHttpAddress("[::1]:0")).toEqual({ kind: "tcp", host: "::1", port: 0 });
  expect(parseHttpAddress("localhost:65535")).toEqual({ kind: "tcp", host: "localhost", port: 65_535 });
  expect(parseHttpAddress("unix:/run/app/leasehold.sock")).toEqual({ kind: "unix", path: "/run/app/leasehold.sock" });
});

test.each(["4040", ":4040"])("a port alone is refused, because its host is unclear (%s)", (text) => {
  expect(() => parseHttpAddress(text)).toThrow(
    `--http is '${text}', which is no address. Say 127.0.0.1:4040 for this machine, or 0.0.0.0:4040 for the network.`,
  );
});

test.each(["", "127.0.0.1", "127.0.0.1:65536", "::1:4040", "http://127.0.0.1:4040", "a b:1", "unix:relative", "unix:/folder/"])(
  "an invalid address is refused (%j)",
  (text) => {
    expect(() => parseHttpAddress(text)).toThrow(/which is no address\. Write it as 127\.0\.0\.1:4040/);
  },
);
