import { asSentence, redact } from "@leasehold/core/provider";
import { describe, expect, test } from "vitest";

describe("what others say is repeated without what may be secret", () => {
  test.for([
    ["cannot reach postgres://user:hush/hu#sh@host/db now", "cannot reach postgres://…@host/db now"],
    ["cannot reach postgres://user:hush hu\tsh@host/db now", "cannot reach postgres://…@host/db now"],
    ["GET https://acme.example/leases?sv=1&sig=hush failed", "GET https://acme.example/leases?… failed"],
    ["lease 0a1b2c3d-0000-4000-8000-0123456789ab is lost", "lease … is lost"],
    ["AccountName=acme;AccountKey=hush==;x", "AccountName=acme;AccountKey=…;x"],
    ['{"client_secret": "hush hush", "x": 1}', '{"client_secret": …, "x": 1}'],
    ["X-Amz-Security-Token: hush; Host: acme", "X-Amz-Security-Token: …; Host: acme"],
    [
      "sent Authorization=AWS4-HMAC-SHA256 Credential=AKID/hush, Signature=hush",
      "sent Authorization=… Credential=…, Signature=…",
    ],
    ["sent Bearer hushhushhush and more", "sent Bearer …"],
    [`Unexpected token 'h', "hush-hush" is not valid JSON`, "Unexpected token … is not valid JSON"],
    [`"hush" is not valid JSON`, "… is not valid JSON"],
  ] as const)("%s", ([message, repeated]) => {
    expect(redact(message)).toBe(repeated);
  });

  test.for([
    "Access denied for user 'a'@'h' (using password: YES)",
    "Bearer token authentication is not permitted for non-TLS protected (non-https) URLs.",
    "Missing the key election in the item",
    "https://acme.example answers no more; install @leasehold/sql",
    "getaddrinfo ENOTFOUND nowhere.invalid",
  ])("and with everything else: %s", (message) => {
    expect(redact(message)).toBe(message);
  });

  test("its first line, cut to 300 characters", () => {
    expect(redact("one\ntwo")).toBe("one");
    expect(redact("x".repeat(301))).toBe("x".repeat(300));
  });
});

test("what others say ends as a sentence does", () => {
  expect(asSentence("no such table")).toBe("no such table.");
  expect(["Gone.", "Gone!", "Gone?"].map(asSentence)).toEqual(["Gone.", "Gone!", "Gone?"]);
});
