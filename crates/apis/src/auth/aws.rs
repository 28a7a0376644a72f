//! Amazon's request signatures: Signature Version 4.

use std::time::Duration;

use aws_credential_types::Credentials;
use aws_sigv4::http_request::{
    PayloadChecksumKind, PercentEncodingMode, SignableBody, SignableRequest, SignatureLocation,
    SigningInstructions, SigningSettings, UriPathNormalizationMode, sign,
};
use aws_sigv4::sign::v4;
use http::{HeaderValue, Method};
use reqwest::Request;
use url::Url;

use crate::clock::Clock;
use crate::fault::RequestFault;

#[derive(Clone)]
pub(crate) struct AwsSigner {
    pub(crate) access_key_id: String,
    pub(crate) secret_access_key: String,
    pub(crate) session_token: Option<String>,
    pub(crate) service: String,
    pub(crate) region: String,
    pub(crate) clock: Clock,
}

impl AwsSigner {
    /// Adds the signature of the current request, and its time and session.
    pub(crate) fn sign(&self, request: &mut Request) -> Result<(), RequestFault> {
        let body = request.body().and_then(reqwest::Body::as_bytes);
        let body = SignableBody::Bytes(body.unwrap_or_default());
        let instructions = self.signing_instructions(request, body, self.signing_settings());
        let instructions = instructions.map_err(signing_fault)?;
        let (headers, _) = instructions.into_parts();
        for header in headers {
            let mut value = HeaderValue::try_from(header.value()).map_err(signing_fault)?;
            value.set_sensitive(true);
            request.headers_mut().insert(header.name(), value);
        }
        Ok(())
    }

    /// Returns a presigned URL: until it expires, anyone can fetch the object without a credential.
    pub(crate) fn presign(&self, url: &Url, lifetime: Duration) -> Result<Url, RequestFault> {
        let request = Request::new(Method::GET, url.clone());
        let mut settings = self.signing_settings();
        settings.signature_location = SignatureLocation::QueryParams;
        settings.expires_in = Some(lifetime);
        settings.payload_checksum_kind = PayloadChecksumKind::NoHeader;
        let body = SignableBody::UnsignedPayload;
        let instructions = self.signing_instructions(&request, body, settings);
        let instructions = instructions.map_err(signing_fault)?;
        let mut signed = url.clone();
        signed.query_pairs_mut().extend_pairs(instructions.params());
        Ok(signed)
    }

    fn signing_instructions(
        &self,
        request: &Request,
        body: SignableBody<'_>,
        settings: SigningSettings,
    ) -> Result<SigningInstructions, Box<dyn std::error::Error + Send + Sync>> {
        let identity = self.credentials().into();
        let params = v4::SigningParams::builder()
            .identity(&identity)
            .region(&self.region)
            .name(&self.service)
            .time(self.clock.now())
            .settings(settings)
            .build()?;
        let mut headers = Vec::new();
        for (name, value) in request.headers() {
            headers.push((name.as_str(), value.to_str()?));
        }
        let signable = SignableRequest::new(
            request.method().as_str(),
            request.url().as_str(),
            headers.into_iter(),
            body,
        )?;
        Ok(sign(signable, &params.into())?.into_parts().0)
    }

    fn credentials(&self) -> Credentials {
        Credentials::new(
            &self.access_key_id,
            &self.secret_access_key,
            self.session_token.clone(),
            None,
            "kitbag",
        )
    }

    /// S3 signs the path as sent and the body's hash in a header; the other services agree with
    /// each other.
    fn signing_settings(&self) -> SigningSettings {
        let mut settings = SigningSettings::default();
        if self.service == "s3" {
            settings.percent_encoding_mode = PercentEncodingMode::Single;
            settings.uri_path_normalization_mode = UriPathNormalizationMode::Disabled;
            settings.payload_checksum_kind = PayloadChecksumKind::XAmzSha256;
        }
        settings
    }
}

fn signing_fault(error: impl std::fmt::Display) -> RequestFault {
    RequestFault::Unsigned {
        reason: error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use http::HeaderName;

    use super::*;

    /// The signatures that Amazon publishes for these requests of 30 August 2015, 12:36:00.
    const PUBLISHED: [(&str, &str, &str, &str); 10] = [
        (
            "GET /",
            "",
            "",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "GET /?Param2=value2&Param1=value1",
            "",
            "",
            "b97d918cfa904a5beff61c982a1b6f458b799221646efd99d3219ec94cdf2500",
        ),
        (
            "GET /?Param-3=Value3&Param=Value2&%E1%88%B4=Value1",
            "",
            "",
            "371d3713e185cc334048618a97f809c9ffe339c62934c032af5a0e595648fcac",
        ),
        (
            "GET /-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz",
            "",
            "",
            "07ef7494c76fa4850883e2b006601f940f8a34d404d0cfa977f52a65bbf5f24f",
        ),
        (
            "GET /example/..",
            "",
            "",
            "5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31",
        ),
        (
            "GET /",
            "my-header1: value1 | my-header2: \"a   b   c\"",
            "",
            "acc3ed3afb60bb290fc8d2dd0098b9911fcaa05412b367055dee359757a9c736",
        ),
        (
            "POST /",
            "",
            "",
            "5da7c1a2acd57cee7505fc6676e4e544621c30862966e37dddb68e92efbe5d6b",
        ),
        (
            "POST /?Param1=value1",
            "",
            "",
            "28038455d6de14eafc1f9222cf5aa6f1a96197d7deb8263271d420d138af7f11",
        ),
        (
            "POST /",
            "my-header1: value1",
            "",
            "c5410059b04c1ee005303aed430f6e6645f61f4dc9e1461ec8f8916fdf18852c",
        ),
        (
            "POST /",
            "content-type: application/x-www-form-urlencoded",
            "Param1=value1",
            "ff11897932ad3f4e8b18135d722051e5ac45fc38421b1da7b9d196a0fe09473a",
        ),
    ];

    fn signer(session_token: Option<&str>) -> AwsSigner {
        AwsSigner {
            access_key_id: "AKIDEXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: session_token.map(str::to_owned),
            service: "service".to_owned(),
            region: "us-east-1".to_owned(),
            clock: standing_at(1_440_938_160),
        }
    }

    fn standing_at(seconds: u64) -> Clock {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
        Clock::new(move || time, |_| Box::pin(std::future::ready(())))
    }

    fn signature(signer: &AwsSigner, line: &str, headers: &str, body: &str) -> String {
        let (method, path) = line.split_once(' ').unwrap();
        let base: Url = "https://example.amazonaws.com".parse().unwrap();
        let method: Method = method.parse().unwrap();
        let mut request = Request::new(method, base.join(path).unwrap());
        for line in headers.split(" | ").filter(|line| !line.is_empty()) {
            let (name, value) = line.split_once(": ").unwrap();
            let name: HeaderName = name.parse().unwrap();
            request.headers_mut().insert(name, value.parse().unwrap());
        }
        *request.body_mut() = (!body.is_empty()).then(|| body.to_owned().into());
        signer.sign(&mut request).unwrap();
        let sent = request.headers()["authorization"].to_str().unwrap();
        sent.rsplit_once("Signature=").unwrap().1.to_owned()
    }

    #[test]
    fn a_presigned_url_equals_the_published_one() {
        let signer = AwsSigner {
            access_key_id: "AKIAIOSFODNN7EXAMPLE".to_owned(),
            secret_access_key: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".to_owned(),
            session_token: None,
            service: "s3".to_owned(),
            region: "us-east-1".to_owned(),
            clock: standing_at(1_369_353_600),
        };
        let url: Url = "https://examplebucket.s3.amazonaws.com/test.txt"
            .parse()
            .unwrap();
        let day = Duration::from_secs(86_400);
        let expected = "https://examplebucket.s3.amazonaws.com/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256\
            &X-Amz-Credential=AKIAIOSFODNN7EXAMPLE%2F20130524%2Fus-east-1%2Fs3%2Faws4_request\
            &X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host\
            &X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404";
        assert_eq!(signer.presign(&url, day).unwrap().as_str(), expected);
    }

    #[test]
    fn signatures_equal_the_published_ones() {
        for (line, headers, body, expected) in PUBLISHED {
            let found = signature(&signer(None), line, headers, body);
            assert_eq!(found, expected, "{line} {headers}");
        }
        let lambda = AwsSigner {
            service: "lambda".to_owned(),
            region: "us-east-2".to_owned(),
            clock: standing_at(1_620_747_645),
            ..signer(None)
        };
        let path = "/2015-03-31/functions/arn%3Aaws%3Alambda%3Aus-west-2%3A892717189312%3Afunction%3Amy-rusty-fun/invocations";
        let url = format!("https://lambda.us-east-2.amazonaws.com{path}");
        assert_eq!(
            signature(&lambda, &format!("POST {url}"), "", ""),
            "4b93abbcc68be32bd64c18e2c71150660ab4c29bbd6c32a383a7517a88fc1804",
            "a path that is encoded already is encoded once more"
        );
        let session = "6e86291e8372ff2a2260956d9b8aae1d763fbf315fa00fa31553b73ebf194267";
        let found = signature(&signer(Some(session)), "GET /", "", "");
        assert_eq!(
            found,
            "07ec1639c89043aa0e3e2de82b96708f198cceab042d4a97044c66dd9f74e7f8"
        );
    }
}
