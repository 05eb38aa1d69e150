import { fromUrl } from "@leasehold/dynamodb";
import { NOTHING, storeUrl } from "@leasehold/test-kit/stores/store-url";
import { expect, test } from "vitest";

const { dynamodb } = fromUrl;

test.each(["dynamodb://leases", "dynamodb://leases?region=eu-west-1"])("%s names a table", (text) => {
  expect(() => dynamodb!.check?.(storeUrl(text))).not.toThrow();
});

test.each(["dynamodb://", "dynamodb:///leases", "dynamodb://leases/e"])("%s is refused", (text) => {
  expect(() => dynamodb!.check?.(storeUrl(text))).toThrow("a URL of dynamodb: names a table: dynamodb://TABLE?region=eu-west-1.");
});

test.each([
  ["dynamodb://leases", "--table-name leases --billing-mode PAY_PER_REQUEST --attribute"],
  ["dynamodb://leases?region=eu-west-1", "--table-name leases --billing-mode PAY_PER_REQUEST --region eu-west-1 --attribute"],
])("the table of %s is made by one command", async (text, part) => {
  const url = storeUrl(text);
  await using store = await dynamodb!.open(url, NOTHING);
  expect(dynamodb!.creation?.(url, store)).toEqual([expect.stringContaining(part)]);
  expect([store.name, dynamodb!.parameters]).toEqual(["dynamodb", ["region", "endpoint"]]);
});
