import { AnnotationMetadataEntryType } from "cdktn";
import type { IConstruct } from "constructs";

const WARNING: string = AnnotationMetadataEntryType.WARN;

/** Returns the warnings of a construct and of all below it, which are shown when an app is synthesized. */
export function warningsOf(scope: IConstruct): string[] {
  return scope.node
    .findAll()
    .flatMap(({ node }) => node.metadata)
    .filter(({ type }) => type === WARNING)
    .map(({ data }) => String(data));
}
