import type { GuardedText } from "@leasehold/conformance";
import type { OpenStore } from "../stores/test-store.ts";

/** Returns a document of the test stores in the form that the suite writes. */
export function guardedText({ document, isRefusal }: OpenStore): GuardedText {
  const guarded = document("guarded");
  return {
    read: () => guarded.read(),
    write: async (leadership, text) =>
      await guarded.write(leadership, text).then(
        () => true,
        (error: unknown) => {
          if (isRefusal(error)) return false;
          throw error;
        },
      ),
  };
}
