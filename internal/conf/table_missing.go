package conf

import "strings"

// missing names the directives of nginx 1.22 to 1.30 that limitgate does not have, with what a configuration would lose
// without them. The list lets an error tell a directive that is known to nginx from a slip of the pen.
var missing = [...]struct{ lost, names string }{
	{"answers would be fetched anew each time instead of from a cache",
		"proxy_cache proxy_cache_background_update proxy_cache_bypass proxy_cache_convert_head " +
			"proxy_cache_key proxy_cache_lock proxy_cache_lock_age proxy_cache_lock_timeout " +
			"proxy_cache_max_range_offset proxy_cache_methods proxy_cache_min_uses proxy_cache_path " +
			"proxy_cache_revalidate proxy_cache_use_stale proxy_cache_valid proxy_no_cache proxy_store " +
			"proxy_store_access"},
	{"requests to the upstream, or its answers, would differ",
		"proxy_pass_trailers"},
	{"what a FastCGI application should answer would not be answered",
		"fastcgi_bind fastcgi_buffer_size fastcgi_buffering fastcgi_buffers fastcgi_busy_buffers_size " +
			"fastcgi_cache fastcgi_cache_background_update fastcgi_cache_bypass fastcgi_cache_key " +
			"fastcgi_cache_lock fastcgi_cache_lock_age fastcgi_cache_lock_timeout fastcgi_cache_max_range_offset " +
			"fastcgi_cache_methods fastcgi_cache_min_uses fastcgi_cache_path fastcgi_cache_revalidate " +
			"fastcgi_cache_use_stale fastcgi_cache_valid fastcgi_catch_stderr fastcgi_connect_timeout " +
			"fastcgi_force_ranges fastcgi_hide_header fastcgi_ignore_client_abort fastcgi_ignore_headers " +
			"fastcgi_index fastcgi_intercept_errors fastcgi_keep_conn fastcgi_limit_rate " +
			"fastcgi_max_temp_file_size fastcgi_next_upstream fastcgi_next_upstream_timeout " +
			"fastcgi_next_upstream_tries fastcgi_no_cache fastcgi_param fastcgi_pass fastcgi_pass_header " +
			"fastcgi_pass_request_body fastcgi_pass_request_headers fastcgi_read_timeout " +
			"fastcgi_request_buffering fastcgi_send_lowat fastcgi_send_timeout fastcgi_socket_keepalive " +
			"fastcgi_split_path_info fastcgi_store fastcgi_store_access fastcgi_temp_file_write_size"},
	{"what a uwsgi application should answer would not be answered",
		"uwsgi_bind uwsgi_buffer_size uwsgi_buffering uwsgi_buffers uwsgi_busy_buffers_size uwsgi_cache " +
			"uwsgi_cache_background_update uwsgi_cache_bypass uwsgi_cache_key uwsgi_cache_lock " +
			"uwsgi_cache_lock_age uwsgi_cache_lock_timeout uwsgi_cache_max_range_offset uwsgi_cache_methods " +
			"uwsgi_cache_min_uses uwsgi_cache_path uwsgi_cache_revalidate uwsgi_cache_use_stale uwsgi_cache_valid " +
			"uwsgi_connect_timeout uwsgi_force_ranges uwsgi_hide_header uwsgi_ignore_client_abort " +
			"uwsgi_ignore_headers uwsgi_intercept_errors uwsgi_limit_rate uwsgi_max_temp_file_size " +
			"uwsgi_modifier1 uwsgi_modifier2 uwsgi_next_upstream uwsgi_next_upstream_timeout " +
			"uwsgi_next_upstream_tries uwsgi_no_cache uwsgi_param uwsgi_pass uwsgi_pass_header " +
			"uwsgi_pass_request_body uwsgi_pass_request_headers uwsgi_read_timeout uwsgi_request_buffering " +
			"uwsgi_send_timeout uwsgi_socket_keepalive uwsgi_ssl_certificate uwsgi_ssl_certificate_cache " +
			"uwsgi_ssl_certificate_key uwsgi_ssl_ciphers uwsgi_ssl_conf_command uwsgi_ssl_crl uwsgi_ssl_name " +
			"uwsgi_ssl_password_file uwsgi_ssl_protocols uwsgi_ssl_server_name uwsgi_ssl_session_reuse " +
			"uwsgi_ssl_trusted_certificate uwsgi_ssl_verify uwsgi_ssl_verify_depth uwsgi_store uwsgi_store_access " +
			"uwsgi_string uwsgi_temp_file_write_size"},
	{"what an SCGI application should answer would not be answered",
		"scgi_bind scgi_buffer_size scgi_buffering scgi_buffers scgi_busy_buffers_size scgi_cache " +
			"scgi_cache_background_update scgi_cache_bypass scgi_cache_key scgi_cache_lock scgi_cache_lock_age " +
			"scgi_cache_lock_timeout scgi_cache_max_range_offset scgi_cache_methods scgi_cache_min_uses " +
			"scgi_cache_path scgi_cache_revalidate scgi_cache_use_stale scgi_cache_valid scgi_connect_timeout " +
			"scgi_force_ranges scgi_hide_header scgi_ignore_client_abort scgi_ignore_headers " +
			"scgi_intercept_errors scgi_limit_rate scgi_max_temp_file_size scgi_next_upstream " +
			"scgi_next_upstream_timeout scgi_next_upstream_tries scgi_no_cache scgi_param scgi_pass " +
			"scgi_pass_header scgi_pass_request_body scgi_pass_request_headers scgi_read_timeout " +
			"scgi_request_buffering scgi_send_timeout scgi_socket_keepalive scgi_store scgi_store_access " +
			"scgi_temp_file_write_size"},
	{"what memcached should answer would not be answered",
		"memcached_bind memcached_buffer_size memcached_connect_timeout memcached_gzip_flag " +
			"memcached_next_upstream memcached_next_upstream_timeout memcached_next_upstream_tries memcached_pass " +
			"memcached_read_timeout memcached_send_timeout memcached_socket_keepalive"},
	{"other files would be served",
		"autoindex autoindex_exact_size autoindex_format autoindex_localtime create_full_put_path dav_access " +
			"dav_methods empty_gif flv gzip_static min_delete_depth mp4 mp4_buffer_size mp4_max_buffer_size " +
			"mp4_start_key_frame random_index slice"},
	{"requests that should be refused would be let in",
		"secure_link secure_link_md5 " +
			"secure_link_secret disable_symlinks"},
	{"requests would be read, answered or logged in another way",
		"early_hints keepalive_min_timeout max_headers msie_refresh post_action " +
			"subrequest_output_buffer_size"},
	{"answers would not be compressed as asked",
		"gunzip gunzip_buffers"},
	{"answers would have other headers",
		"add_header_inherit add_trailer_inherit userid userid_domain userid_expires " +
			"userid_flags userid_mark userid_name userid_p3p userid_path userid_service"},
	{"the text of answers would not be changed as asked",
		"add_after_body add_before_body addition_types charset charset_map charset_types image_filter " +
			"image_filter_buffer image_filter_interlace image_filter_jpeg_quality image_filter_sharpen " +
			"image_filter_transparency image_filter_webp_quality override_charset source_charset ssi " +
			"ssi_ignore_recycled_buffers ssi_last_modified ssi_min_file_chunk ssi_silent_errors ssi_types " +
			"ssi_value_length sub_filter sub_filter_last_modified sub_filter_once sub_filter_types xml_entities " +
			"xslt_last_modified xslt_param xslt_string_param xslt_stylesheet xslt_types"},
	{"its variables would be missing",
		"ancient_browser ancient_browser_value geoip_city geoip_country geoip_org geoip_proxy " +
			"geoip_proxy_recursive modern_browser modern_browser_value referer_hash_bucket_size " +
			"referer_hash_max_size valid_referers"},
	{"connections would not be encrypted as asked",
		"ssl_ech_file"},
	{"clients would be served by another version of HTTP",
		"http3 http3_hq http3_max_concurrent_streams http3_stream_buffer_size " +
			"quic_active_connection_id_limit quic_gso quic_host_key quic_retry"},
	{"requests would go to other servers of the group",
		"sticky"},
	{"what it should answer would not be answered",
		"degradation degrade perl perl_modules perl_require perl_set"},
	{"TCP and UDP connections would not be served",
		"pass preread_buffer_size preread_timeout proxy_download_rate proxy_downstream_buffer " +
			"proxy_half_close proxy_protocol_timeout proxy_requests proxy_responses proxy_ssl proxy_upload_rate " +
			"proxy_upstream_buffer ssl_alpn ssl_handshake_timeout ssl_preread stream"},
	{"mail clients would not be served",
		"auth_http auth_http_header auth_http_pass_client_cert auth_http_timeout imap_auth imap_capabilities " +
			"imap_client_buffer mail max_errors pop3_auth pop3_capabilities protocol proxy proxy_buffer " +
			"proxy_pass_error_message proxy_protocol proxy_smtp_auth proxy_timeout smtp_auth smtp_capabilities " +
			"smtp_client_buffer smtp_greeting_delay starttls timeout xclient"},
	{"the process would end, be watched or wait for events in another way",
		"acceptex_read devpoll_changes devpoll_events eventport_events google_perftools_profiles iocp_threads " +
			"kqueue_changes kqueue_events post_acceptex quic_bpf ssl_object_cache_inheritable"},
}

// missingSpecs makes entries of the table from missing.
func missingSpecs() []Spec {
	var specs []Spec
	for _, g := range missing {
		for _, name := range strings.Fields(g.names) {
			specs = append(specs, Spec{Name: name, Contexts: everywhere, Max: Any, Merge: Own, Repeat: true, Status: Missing,
				Doc: "without it " + g.lost})
		}
	}
	return specs
}
