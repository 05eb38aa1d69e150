import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import type { ServiceDefinition } from "@grpc/grpc-js";
import { fromJSON } from "@grpc/proto-loader";

/**
 * The service google.firestore.v1.Firestore, from the protocol description that Google's own client is built with, and
 * so always the one of the installed client. Requests are decoded to what messages.ts describes.
 */
export function serviceDefinition(): ServiceDefinition {
  // The client does not export its description, but the package of generated code that it depends on does.
  const client = createRequire(import.meta.url).resolve("@google-cloud/firestore");
  const file = createRequire(client).resolve("@google-cloud/firestore-api/protos/protos.json");
  const description = JSON.parse(readFileSync(file, "utf8")) as Parameters<typeof fromJSON>[0];
  const types = fromJSON(description, { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true });
  return types["google.firestore.v1.Firestore"] as ServiceDefinition;
}
