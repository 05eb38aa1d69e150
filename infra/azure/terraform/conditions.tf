# What each candidate may read and write: the blobs of its elections, their notes and their occurrences.
locals {
  path = "@Resource[Microsoft.Storage/storageAccounts/blobServices/containers/blobs:path]"

  conditions = {
    for key, each in var.candidates : key => <<-EOT
      (
       (
        !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read'})
        AND
        !(ActionMatches{'Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write'})
       )
       OR
       (
        ${local.path} ForAnyOfAnyValues:StringEquals {${join(", ", flatten([for name in each.elections : ["'${name}'", "'${name}.note'"]]))}}
        OR
        ${local.path} ForAnyOfAnyValues:StringLike {${join(", ", [for name in each.elections : "'ticks/${name}/*'"])}}
       )
      )
    EOT
  }
}
