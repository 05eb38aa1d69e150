import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { S3Client } from "@aws-sdk/client-s3";
import { Storage } from "@google-cloud/storage";
import { ConfigurationError } from "@leasehold/core";
import { ObjectStorageLeaseStore, type ObjectStorageLeaseStoreOptions } from "@leasehold/object-storage";
import { startObjectServer } from "@leasehold/test-kit/object-server/server";
import { expect, onTestFinished, test, vi } from "vitest";
import { Keys } from "../src/keys.ts";
import { checkedOptions } from "../src/options.ts";
import { lead } from "./object-world.ts";

const client = new S3Client({ region: "eu-central-1" });

test("takes a client of either SDK, or a URL", () => {
  expect(new ObjectStorageLeaseStore({ client, bucket: "leases" }).name).toBe("s3");
  expect(new ObjectStorageLeaseStore({ client: new Storage(), bucket: "leases", prefix: "" }).name).toBe("gcs");
  expect(new ObjectStorageLeaseStore({ url: "s3://leases/team?region=eu-west-1&endpoint=http://127.0.0.1:9000" }).name).toBe(
    "s3",
  );
  expect(new ObjectStorageLeaseStore({ url: "gs://leases" }).name).toBe("gcs");
});

test.each(["", "a.b/c-", "a/.", "..", "p".repeat(200)])("takes the prefix '%s'", (prefix) => {
  expect(() => new ObjectStorageLeaseStore({ client, bucket: "leases", prefix })).not.toThrow();
});

test.each<[problem: string, options: unknown, says: string]>([
  ["neither a client nor a URL", {}, "it was given neither"],
  ["both", { client, url: "s3://leases" }, "it was given both"],
  ["no bucket", { client }, "bucket is missing"],
  ["a client of another service", { client: new DynamoDBClient({}), bucket: "leases" }, "client is neither"],
  ["an access point", { client, bucket: "arn:aws:s3:eu-west-1:123456789012:accesspoint/a" }, "an access point"],
  ["the alias of an access point", { client, bucket: "leases-abcdefgh-s3alias" }, "an access point"],
  ["a multi-region access point", { client, bucket: "abcdefgh.mrap" }, "an access point"],
  ["a bucket with capitals", { client, bucket: "Leases" }, "lower-case letters"],
  ["a prefix with a slash before it", { client, bucket: "leases", prefix: "/a" }, "not begin with a slash"],
  ["a prefix with a segment of dots", { client, bucket: "leases", prefix: "a/../b" }, "no segment"],
  ["a prefix with a dot before it", { client, bucket: "leases", prefix: "./b" }, "no segment"],
  ["a prefix that is too long", { client, bucket: "leases", prefix: "p".repeat(201) }, "at most 200 letters"],
  ["a bucket beside a URL", { url: "s3://leases", bucket: "leases" }, "leave the options"],
  ["a prefix beside a URL", { url: "s3://leases", prefix: "a" }, "leave the options"],
  ["an access point of Object Lambda", { client, bucket: "leases--ol-s3" }, "an access point"],
  ["a bucket of two letters", { client, bucket: "le" }, "3 to 222 lower-case letters"],
  ["a bucket of 223 letters", { client, bucket: "l".repeat(223) }, "3 to 222 lower-case letters"],
  ["a bucket with a hyphen after it", { client, bucket: "leases-" }, "3 to 222 lower-case letters"],
  ["a user in a URL", { url: "s3://me@leases" }, "a user, a password or a port"],
  ["a password in a URL", { url: "s3://:secret@leases" }, "a user, a password or a port"],
  ["a port in a URL", { url: "s3://leases:9000" }, "a user, a password or a port"],
  ["an endpoint that is no URL", { url: "s3://leases?endpoint=localhost" }, "endpoint is not a URL"],
  ["an endpoint of another scheme", { url: "s3://leases?endpoint=ftp://localhost" }, "endpoint is not a URL"],
  ["another scheme", { url: "https://leases" }, "url cannot be read"],
  ["an unknown parameter", { url: "gs://leases?region=eu" }, "unknown parameter 'region'"],
  ["an unknown option", { client, bucket: "leases", table: "a" }, "table"],
])("refuses %s", (_, options, says) => {
  expect(() => new ObjectStorageLeaseStore(options as ObjectStorageLeaseStoreOptions)).toThrow(ConfigurationError);
  expect(() => new ObjectStorageLeaseStore(options as ObjectStorageLeaseStoreOptions)).toThrow(says);
});

test.each([
  ["s3://lea", "lea", "leasehold/"],
  ["s3://leases/", "leases", "leasehold/"],
  ["s3://leases/team", "leases", "team/"],
  ["gs://leases/team/a/", "leases", "team/a/"],
  [`gs://${"l".repeat(222)}/a%2Fb`, "l".repeat(222), "a/b/"],
])("the URL %s names the bucket %s and the prefix %s", (url, bucket, prefix) => {
  expect(checkedOptions({ url })).toMatchObject({ bucket, prefix, service: { name: url.startsWith("s3") ? "s3" : "gcs" } });
});

test("refuses a lease on gcs whose renewals would be more than one every two seconds", () => {
  expect(new ObjectStorageLeaseStore({ url: "gs://leases" }).capabilities).toMatchObject({
    minLeaseMs: 6_000,
    fence: "after-seal",
  });
  expect(new ObjectStorageLeaseStore({ client, bucket: "leases" }).capabilities).toMatchObject({ minLeaseMs: 1, watch: "poll" });
});

test("no key of an election is the probe's, or an occurrence's", () => {
  const keys = new Keys("leasehold/");
  for (const election of [".probe", "ticks/a", "%", "ä/😀", "..", "ticks"]) {
    const key = keys.lease(election);
    expect(key.slice("leasehold/".length)).toMatch(/^[\w%-]+$/);
    expect(keys.electionOf(key)).toBe(election);
  }
  expect(keys.electionOf(keys.probe)).toBeUndefined();
  expect(keys.electionOf(keys.occurrence("e", "1"))).toBeUndefined();
});

test("the key of an occurrence has at most 1024 characters", () => {
  const keyOf = (end: string): string => new Keys("").occurrence("ä".repeat(84), `${"ö".repeat(85)}${end}`);
  expect(keyOf("abc")).toHaveLength(1_024);
  expect(() => keyOf("abcd")).toThrow("takes 1025 characters as a key; at most 1024 fit");
});

test("a URL opens a client for another endpoint, which the store closes", async () => {
  await using s3 = await startObjectServer({ protocol: "s3" });
  await using gcs = await startObjectServer({ protocol: "gcs" });
  vi.stubEnv("AWS_ACCESS_KEY_ID", "any");
  vi.stubEnv("AWS_SECRET_ACCESS_KEY", "any");
  onTestFinished(() => void vi.unstubAllEnvs());
  for (const url of [`s3://leases/team?region=auto&endpoint=${s3.url}`, `gs://leases/team?endpoint=${gcs.url}`]) {
    const store = new ObjectStorageLeaseStore({ url });
    await expect(lead(store)).resolves.toMatchObject({ term: 1 });
    await store.close();
  }
  for (const { bucket } of [s3, gcs]) expect([...bucket.objects.keys()]).toEqual(["team/.probe", "team/e"]);
});
