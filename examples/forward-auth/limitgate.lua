-- Asks limitgate whether a request may pass; txn.limit_status is its answer, and 0 where there is none.
core.register_action("limitgate", { "http-req" }, function(txn, url)
    local scheme = "http"
    if txn.f:ssl_fc() == 1 then
        scheme = "https"
    end
    local answer = core.httpclient():get({
        url = url,
        timeout = 1000,
        headers = {
            ["x-forwarded-for"] = { txn.f:src() },
            ["x-forwarded-host"] = { txn.f:req_hdr("host") },
            ["x-forwarded-method"] = { txn.f:method() },
            ["x-forwarded-proto"] = { scheme },
            ["x-forwarded-uri"] = { txn.f:pathq() },
        },
    })
    local after = answer and answer.headers and answer.headers["retry-after"]
    txn:set_var("txn.limit_status", answer and answer.status or 0)
    txn:set_var("txn.limit_retry_after", after and after[0] or "1")
end, 1)
