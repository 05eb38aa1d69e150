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
  // Read and not imported: the client must not see what is added here.
  const description = JSON.parse(readFileSync(file, "utf8")) as Description;
  addVerify(description);
  const types = fromJSON(description, { keepCase: true, longs: String, enums: String, defaults: true, oneofs: true });
  return types["google.firestore.v1.Firestore"] as ServiceDefinition;
}

/** The one part of the description that is looked into. */
type Description = Parameters<typeof fromJSON>[0] & {
  readonly nested: {
    readonly google: { readonly nested: { readonly firestore: { readonly nested: { readonly v1: { readonly nested: V1 } } } } };
  };
};

interface V1 {
  readonly Write: {
    readonly oneofs: { readonly operation: { readonly oneof: string[] } };
    readonly fields: Record<string, { readonly type: string; readonly id: number }>;
  };
}

/**
 * A write that checks a document and leaves it as it is. The service knows it, and the clients for browsers use it, but
 * the published description leaves it out.
 */
function addVerify(description: Description): void {
  const { Write } = description.nested.google.nested.firestore.nested.v1.nested;
  Write.fields["verify"] = { type: "string", id: 5 };
  Write.oneofs.operation.oneof.push("verify");
}
