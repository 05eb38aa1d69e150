import { describe, expect, test } from "vitest";
import { refusal, type Asking } from "../src/serve/access.ts";

const RULES = { hosts: ["Leasehold.internal"], token: "right" };

function asking(headers: Asking["headers"], rest: Partial<Asking> = {}): Asking {
  return { method: "GET", headers: { host: "127.0.0.1:4040", ...headers }, remoteAddress: "127.0.0.1", ...rest };
}

describe("the Host header", () => {
  test.each(["127.0.0.1:4040", "10.1.2.3", "[::1]:4040", "localhost:4040", "LOCALHOST.", "leasehold.internal:80", "", undefined])(
    "may be an address, localhost, a name that was allowed, or missing (%s)",
    (host) => {
      expect(refusal(asking({ host }), RULES)).toBeUndefined();
    },
  );

  test.each(["evil.example", "evil.example:4040", "localhost.evil.example", "127.0.0.1.evil.example", "[evil]", "a:b:c"])(
    "is refused with a name that another person may have resolved to this address (%s)",
    (host) => {
      expect(refusal(asking({ host }), RULES)).toMatchObject({ status: 403 });
    },
  );
});

describe("a page of another site", () => {
  test.each([
    { origin: "http://evil.example" },
    { origin: "null" },
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image" },
    { "sec-fetch-site": "same-site", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" },
    { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe" },
  ])("gets nothing (%j)", (headers) => {
    expect(refusal(asking(headers), RULES)).toMatchObject({ status: 403 });
  });

  test("may link to this server", () => {
    const headers = { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" };
    expect(refusal(asking(headers), RULES)).toBeUndefined();
  });

  test("does not include this server's own page", () => {
    expect(refusal(asking({ origin: "http://127.0.0.1:4040", "sec-fetch-site": "same-origin" }), RULES)).toBeUndefined();
  });
});

describe("a change", () => {
  const authorization = "Bearer right";
  const post = (headers: Asking["headers"], rest: Partial<Asking> = {}): Asking => asking(headers, { method: "POST", ...rest });

  test.each(["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1", undefined])(
    "is taken with the token from this machine (%s)",
    (remoteAddress) => {
      expect(refusal(post({ authorization }, { remoteAddress }), RULES)).toBeUndefined();
    },
  );

  test.each(["10.1.2.3", "::ffff:10.1.2.3", "fe80::1", "nonsense"])("is refused from another machine (%s)", (remoteAddress) => {
    expect(refusal(post({ authorization }, { remoteAddress }), RULES)).toMatchObject({ status: 403 });
  });

  test.each([undefined, "Bearer wrong", "Bearer", "right", "Basic right"])("is refused without the token (%s)", (given) => {
    expect(refusal(post({ authorization: given }), RULES)).toMatchObject({ status: 401 });
  });

  test("is refused if no token is set, even if the request has one", () => {
    expect(refusal(post({ authorization: "Bearer undefined" }), { ...RULES, token: undefined })).toMatchObject({ status: 403 });
  });

  test("is refused from another site's page, even with the token", () => {
    expect(refusal(post({ authorization, origin: "http://evil.example" }), RULES)).toMatchObject({ status: 403 });
  });
});
